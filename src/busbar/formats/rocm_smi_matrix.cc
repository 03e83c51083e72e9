#include <fmt/core.h>

#include <map>

#include "busbar/formats/internal/machine_records.h"
#include "busbar/formats/internal/smi_matrix.h"
#include "busbar/formats/lines.h"

namespace busbar::formats {
namespace {

using namespace machine_records;

constexpr int kMostGpus = 512;

/// "GPU3" or "GPU[3]".
bool take_gpu(LineCursor& c, int& out) {
  if (!c.accept("GPU")) return false;
  const bool bracket = c.accept("[");
  return c.integer(out, 0, kMostGpus - 1) && (!bracket || c.accept("]"));
}

struct Tables {
  std::map<std::pair<int, int>, std::string> type;
  std::map<std::pair<int, int>, std::int64_t> hops;
  std::map<int, int> numa;
  int gpus = 0;
  std::vector<UnknownPart> unknown;
};

enum class Part { kNone, kWeight, kHops, kType, kNuma, kUnknown };

Part part_of(std::string_view heading) {
  if (heading.find("Weight between") != heading.npos) return Part::kWeight;
  if (heading.find("Hops between") != heading.npos) return Part::kHops;
  if (heading.find("Link Type between") != heading.npos) return Part::kType;
  if (heading.find("Numa Nodes") != heading.npos) return Part::kNuma;
  if (heading.find("ROCm S") != heading.npos || heading.find("End of") != heading.npos) return Part::kNone;
  return Part::kUnknown;
}

Status read_numa(LineCursor c, Tables& t) {
  int gpu = 0;
  std::int64_t n = 0;
  if (!take_gpu(c, gpu)) return {};
  const std::size_t at = c.rest().find("Numa Node: ");
  if (at == std::string_view::npos) return {};
  LineCursor value(c.rest().substr(at + 11));
  if (value.integer(n)) t.numa[gpu] = static_cast<int>(n);
  return {};
}

Status read_row(LineCursor c, Part part, const Where& where, Tables& t) {
  int row = 0, column = 0;
  if (!take_gpu(c, row)) return {};
  LineCursor ahead = c;
  ahead.blanks();
  if (ahead.rest().starts_with("GPU")) return {};  // the header
  t.gpus = std::max(t.gpus, row + 1);
  for (c.blanks(); !c.at_end(); c.blanks(), ++column) {
    const std::string_view word = c.word();
    if (part == Part::kType) t.type[{row, column}] = word;
    std::int64_t hops = 0;
    LineCursor number(word);
    if (part == Part::kHops && !(number.integer(hops) && number.at_end()))
      return invalid(fmt::format("'{}' is not a number of hops", word), where);
    if (part == Part::kHops) t.hops[{row, column}] = hops;
    if (column >= kMostGpus) return invalid("more than 512 GPUs", where);
  }
  return {};
}

Result<Tables> read_tables(std::string_view text, const std::string& name) {
  Tables t;
  LineSource source = LineSource::of_text(text, name);
  source.skip_prefixes();
  std::string_view raw;
  Part part = Part::kNone;
  while (source.next(raw)) {
    const std::string_view line = trimmed(raw);
    if (line.starts_with("===")) {
      part = part_of(line);
      if (part == Part::kUnknown) add_unknown(t.unknown, source.number(), "part " + std::string(line));
    } else if (part == Part::kNuma) {
      BUSBAR_RETURN_IF_ERROR(read_numa(LineCursor(line), t));
    } else if (part == Part::kType || part == Part::kHops) {
      BUSBAR_RETURN_IF_ERROR(read_row(LineCursor(line), part, source.where(), t));
    }
  }
  if (t.type.empty())
    return invalid("no table of link types; expected the output of rocm-smi --showtopo", {name, 0, 0, ""});
  return t;
}

Records records_of(Tables t) {
  Records out;
  out.version = 2;
  out.unknown = std::move(t.unknown);
  std::map<int, std::size_t> cpus;
  for (int g = 0; g < t.gpus; ++g) cpus.try_emplace(std::max(t.numa.contains(g) ? t.numa[g] : 0, 0), 0);
  for (auto& [numa, place] : cpus) {
    place = out.all.size();
    Record r;
    r.kind = RecordKind::kCpu;
    r.said.numa_id = numa;
    out.all.push_back(std::move(r));
  }
  for (int g = 0; g < t.gpus; ++g) {
    Record r;
    r.kind = RecordKind::kPci;
    r.parent = cpus[std::max(t.numa.contains(g) ? t.numa[g] : 0, 0)];
    r.said.bus_id = fmt::format("{:04x}:00:00.0", g);
    r.said.pci_class = 0x120000;
    r.said.dev = r.said.rank = g;
    r.has_gpu = true;
    for (int peer = 0; peer < t.gpus; ++peer) {
      const auto type = t.type.find({g, peer});
      const auto hops = t.hops.find({g, peer});
      if (peer == g || type == t.type.end() || type->second != "XGMI") continue;
      if (hops != t.hops.end() && hops->second != 1) continue;
      LinkRecord l;
      l.kind = LinkRecord::Kind::kXgmi;
      l.target = fmt::format("{:04x}:00:00.0", peer);
      l.target_class = 0x120000;
      r.links.push_back(std::move(l));
    }
    ++out.all[r.parent].children;
    out.all.push_back(std::move(r));
  }
  return out;
}

}  // namespace

bool looks_like_rocm_smi_matrix(std::string_view head) {
  return head.find("Link Type between two GPUs") != head.npos || head.find("Weight between two GPUs") != head.npos;
}

Result<ImportedMachine> read_rocm_smi_matrix(std::string_view text, const std::string& name,
                                             const topology::PartFigures& figures) {
  BUSBAR_ASSIGN(Tables tables, read_tables(text, name));
  return build_machine(records_of(std::move(tables)), figures, name);
}

}  // namespace busbar::formats
