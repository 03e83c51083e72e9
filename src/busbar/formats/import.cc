#include "busbar/formats/import.h"

#include <fmt/core.h>

#include <iterator>
#include <sstream>

#include "busbar/base/text.h"
#include "busbar/formats/comm_groups.h"
#include "busbar/formats/goal.h"
#include "busbar/formats/internal/astra_ns3.h"
#include "busbar/formats/internal/astra_sim.h"
#include "busbar/formats/internal/hwloc_xml.h"
#include "busbar/formats/internal/ib_fabric.h"
#include "busbar/formats/internal/import_reports.h"
#include "busbar/formats/internal/mscclpp_plan.h"
#include "busbar/formats/internal/slurm_topology.h"
#include "busbar/formats/internal/smi_matrix.h"
#include "busbar/formats/line_prefix.h"
#include "busbar/formats/lines.h"
#include "busbar/formats/nccl_log.h"
#include "busbar/formats/nccl_topo_xml_reader.h"
#include "busbar/formats/nccl_tuner.h"
#include "busbar/formats/perf_table.h"

namespace busbar::formats {
namespace {

constexpr std::size_t kHead = 64 << 10;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// The first tag of an XML file, after declaration, document type and comments.
std::string_view first_tag(std::string_view head) {
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  std::size_t at = head.find_first_not_of(" \t\r\n");
  if (at == head.npos || head[at] != '<') return {};
  while (at != head.npos) {
    const std::string_view rest = head.substr(at);
    if (rest.starts_with("<!--")) {
      const std::size_t end = rest.find("-->");
      if (end == rest.npos) return {};
      at = head.find('<', at + end);
    } else if (rest.starts_with("<?") || rest.starts_with("<!")) {
      at = head.find('<', at + 1);
    } else {
      return rest.substr(1, rest.find_first_of(" \t\r\n/>") - 1);
    }
  }
  return {};
}

bool is_nccl_topo(std::string_view head) { return first_tag(head) == "system"; }
bool is_nccl_graph(std::string_view head) { return first_tag(head) == "graphs"; }
bool is_msccl(std::string_view head) { return first_tag(head) == "algo"; }
bool is_hwloc(std::string_view head) { return first_tag(head) == "topology"; }

constexpr FormatEntry kFormats[] = {
    {"nccl-topology", "NCCL or RCCL topology XML (NCCL_TOPO_FILE)", is_nccl_topo, nullptr, read_nccl_topo_xml},
    {"nccl-graph", "NCCL graph XML (NCCL_GRAPH_FILE)", is_nccl_graph, report_nccl_graph, nullptr},
    {"hwloc", "hwloc topology XML (lstopo --of xml)", is_hwloc, nullptr, read_hwloc_xml},
    {"msccl", "MSCCL algorithm XML", is_msccl, report_msccl, nullptr, schedule_of_msccl},
    {"mscclpp", "MSCCL++ execution plan", looks_like_mscclpp_plan, report_mscclpp, nullptr, schedule_of_mscclpp},
    {"goal", "GOAL: messages and work of ranks", looks_like_goal, report_goal, nullptr, nullptr, messages_of_goal},
    {"chakra", "Chakra execution trace", looks_like_chakra, nullptr, nullptr, nullptr, nullptr, read_chakra},
    {"chakra-json", "Chakra execution trace as JSON", looks_like_chakra_json, nullptr, nullptr, nullptr, nullptr,
     read_chakra_json},
    {"kineto", "Kineto trace (PyTorch profiler)", looks_like_kineto, nullptr, nullptr, nullptr, nullptr, read_kineto},
    {"astra-network", "network of ASTRA-sim, analytical (YAML)", looks_like_astra_network, report_astra_network,
     read_astra_machine},
    {"astra-system", "system, memory or logical dimensions of ASTRA-sim (JSON)", looks_like_astra_system,
     report_astra_system, nullptr},
    {"ns3-topology", "physical topology of ASTRA-sim for ns-3", looks_like_ns3_topology, report_ns3_topology,
     read_ns3_machine},
    {"comm-groups", "communicator groups of ASTRA-sim (JSON)", looks_like_comm_groups, report_comm_groups, nullptr},
    {"nccl-tuner", "picks for NCCL's tuner plugin (NCCL_TUNER_CONFIG_FILE)", looks_like_nccl_tuner, report_nccl_tuner,
     nullptr},
    {"nccl-tests-json", "report of nccl-tests or rccl-tests in JSON", looks_like_perf_json, report_perf_json, nullptr},
    {"nccl-tests-csv", "report of rccl-tests in CSV", looks_like_perf_csv, report_perf_csv, nullptr},
    {"nccl-tests", "table of nccl-tests or rccl-tests", looks_like_perf_table, report_perf_table, nullptr},
    {"nccl-log", "NCCL_DEBUG=INFO log", looks_like_nccl_log, report_nccl_log, nullptr},
    {"rocm-smi-topology", "matrices of rocm-smi --showtopo", looks_like_rocm_smi_matrix, nullptr, read_rocm_smi_matrix},
    {"nvidia-smi-topology", "matrix of nvidia-smi topo -m", looks_like_nvidia_smi_matrix, nullptr,
     read_nvidia_smi_matrix},
    {"iblinkinfo", "links of an InfiniBand network", looks_like_iblinkinfo, report_iblinkinfo, nullptr},
    {"ibnetdiscover", "InfiniBand network, blocks or port list", looks_like_ibnetdiscover, report_ibnetdiscover,
     nullptr},
    {"slurm-topology", "Slurm topology.conf or topology.yaml", looks_like_slurm_topology, report_slurm, nullptr},
};

Result<ImportReport> report_in(const FormatEntry& format, ImportSource& source, const topology::PartFigures& figures) {
  if (format.read != nullptr) return format.read(source);
  if (format.trace != nullptr) {
    BUSBAR_ASSIGN(CommTrace trace, read_trace(format, source));
    return report_of(std::move(trace));
  }
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(ImportedMachine machine, format.machine(text, source.name(), figures));
  return report_of(std::move(machine));
}

}  // namespace

Result<ImportSource> ImportSource::open(const std::string& path) {
  BUSBAR_ASSIGN(Input input, Input::open(path));
  return of_input(std::move(input));
}

Result<ImportSource> ImportSource::of_input(Input input) {
  ImportSource s;
  s.name_ = input.name();
  s.input_ = std::move(input);
  BUSBAR_ASSIGN(const std::unique_ptr<std::istream> in, s.stream());
  s.head_.resize(kHead);
  in->read(s.head_.data(), static_cast<std::streamsize>(kHead));
  s.head_.resize(static_cast<std::size_t>(in->gcount()));
  if (s.head_.empty()) BUSBAR_RETURN_IF_ERROR(s.complete());  // what is cut later can be read as far as it goes
  s.marked_ = s.head_.starts_with(kByteOrderMark);
  if (s.marked_) s.head_.erase(0, kByteOrderMark.size());
  return s;
}

ImportSource ImportSource::of_text(std::string_view text, std::string name) {
  ImportSource s;
  s.name_ = std::move(name);
  s.given_ = text;
  s.head_ = text.substr(0, kHead);
  return s;
}

Result<std::string_view> ImportSource::whole() {
  if (!input_) return given_;
  if (read_) return std::string_view(text_);
  BUSBAR_ASSIGN(text_, input_->whole());
  if (marked_) text_.erase(0, kByteOrderMark.size());
  read_ = true;
  return std::string_view(text_);
}

Result<LineSource> ImportSource::lines() const {
  if (!input_) return LineSource::of_text(given_, name_);
  BUSBAR_ASSIGN(std::unique_ptr<std::istream> in, stream());
  return LineSource::of_stream(std::move(in), name_);
}

Result<std::unique_ptr<std::istream>> ImportSource::stream() const {
  std::unique_ptr<std::istream> in;
  if (input_)
    in = input_->stream();
  else
    in = std::make_unique<std::istringstream>(std::string(given_));
  if (!*in) return Error{ErrorCode::kIo, "cannot be read", {name_, 0, 0, ""}};
  if (marked_) in->ignore(static_cast<std::streamsize>(kByteOrderMark.size()));
  return in;
}

Status ImportSource::complete() const { return input_ ? input_->status() : Status(); }

const std::string& ImportSource::archive() const {
  static const std::string kNone;
  return input_ ? input_->archive() : kNone;
}

std::span<const FormatEntry> import_formats() { return kFormats; }

const FormatEntry* find_format(std::string_view head) {
  for (const FormatEntry& f : import_formats())
    if (f.matches(head)) return &f;
  if (head.find('\0') != head.npos) return nullptr;
  const std::string bare = without_prefixes(head);
  for (const FormatEntry& f : import_formats())
    if (bare != head && f.matches(bare)) return &f;
  return nullptr;
}

Result<CommTrace> read_trace(const FormatEntry& format, ImportSource& source) {
  BUSBAR_ASSIGN(const std::unique_ptr<std::istream> in, source.stream());
  Result<CommTrace> trace = format.trace(*in, source.name());
  BUSBAR_RETURN_IF_ERROR(source.complete());
  return trace;
}

Result<ImportReport> import_source(ImportSource& source, const topology::PartFigures& figures,
                                   const std::string& kind) {
  const FormatEntry* format = kind.empty() ? find_format(source.head()) : nullptr;
  std::string kinds;
  for (const FormatEntry& f : import_formats()) {
    if (kind == f.kind) format = &f;
    append_word(kinds, f.kind);
  }
  if (format == nullptr && !kind.empty())
    return invalid(fmt::format("there is no kind '{}'; known are {}", kind, kinds), {"", 0, 0, "--kind"});
  if (format == nullptr)
    return invalid(fmt::format("not a kind of file that is known; known are {}", kinds), {source.name(), 0, 0, ""});
  Result<ImportReport> report = report_in(*format, source, figures);
  BUSBAR_RETURN_IF_ERROR(source.complete());  // explains a reader's error about a text that ends early
  if (report.ok()) report->kind = format->kind;
  return report;
}

}  // namespace busbar::formats
