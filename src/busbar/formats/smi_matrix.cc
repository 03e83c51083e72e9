#include "busbar/formats/internal/smi_matrix.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "busbar/base/disjoint_sets.h"
#include "busbar/base/text.h"
#include "busbar/formats/internal/machine_records.h"
#include "busbar/formats/lines.h"
#include "busbar/formats/smi_cells.h"

namespace busbar::formats {
namespace {

using namespace machine_records;

constexpr std::size_t kMostColumns = 512;
constexpr std::int64_t kMostLinksOfAGpu = 36;  // NVIDIA's counts so far: 18 up to Blackwell, 36 with Rubin

std::optional<int> number_after(std::string_view text, std::string_view stem) {
  if (!text.starts_with(stem)) return std::nullopt;
  text.remove_prefix(stem.size());
  int n = 0;
  return is_number(text, n) && n >= 0 ? std::optional(n) : std::nullopt;
}

/// A matrix of words with names; rows and columns have the same names.
struct Matrix {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> cells;
  std::vector<int> numa, line;  ///< per row; -1: not in the file
  std::map<std::string, std::string> legend;
  std::vector<UnknownPart> unknown;
};

bool is_device(std::string_view name) { return is_smi_gpu(name) || is_smi_nic(name); }

Result<Matrix> read_matrix(std::string_view text, const std::string& name) {
  Matrix m;
  LineSource source = LineSource::of_text(text, name);
  source.skip_prefixes();
  std::string_view line;
  std::size_t numa_column = 0, columns = 0;
  bool legend = false;
  while (source.next(line)) {
    std::vector<std::string> cells = smi_cells(line);
    if (cells.empty()) continue;
    const Where where = source.where();
    if (legend && line.find("NIC") != line.npos && line.find(':') != line.npos) {
      const std::size_t colon = line.find(':');
      m.legend[std::string(trimmed(line.substr(0, colon)))] = trimmed(line.substr(colon + 1));
    } else if (trimmed(line).starts_with("Legend") || trimmed(line).starts_with("NIC Legend")) {
      legend = true;
    } else if (columns == 0 && std::count_if(cells.begin(), cells.end(), [](auto& c) { return is_device(c); }) > 0 &&
               std::find(cells.begin(), cells.end(), "X") == cells.end()) {
      if (!cells.empty() && cells.front().empty()) cells.erase(cells.begin());  // some copies lose the first tab
      for (const std::string& c : cells) {
        if (is_device(c)) m.names.push_back(c);
        if (c == "NUMA Affinity") numa_column = static_cast<std::size_t>(&c - cells.data()) + 1;
      }
      columns = m.names.size();
      if (columns > kMostColumns) return invalid(fmt::format("more than {} devices", kMostColumns), where);
    } else if (columns > 0 && !legend && is_device(cells.front())) {
      if (m.cells.size() >= columns || cells.front() != m.names[m.cells.size()])
        return invalid(fmt::format("row '{}' does not follow the order of the columns", cells.front()), where);
      if (cells.size() < columns + 1)
        return invalid(
            fmt::format("row '{}' has {} cells, the header names {}", cells.front(), cells.size() - 1, columns), where);
      m.cells.emplace_back(cells.begin() + 1, cells.begin() + 1 + static_cast<std::ptrdiff_t>(columns));
      m.numa.push_back(-1);
      m.line.push_back(where.line);
      if (numa_column > 0 && numa_column < cells.size())
        m.numa.back() = number_after(cells[numa_column], "").value_or(-1);
    } else if (!legend && !trimmed(line).empty()) {
      add_unknown(m.unknown, where.line, "line outside the matrix");
    }
  }
  if (columns == 0) return invalid("no header with GPUs; expected the output of nvidia-smi topo -m", {name, 0, 0, ""});
  if (m.cells.size() != columns)
    return invalid(fmt::format("{} rows for {} columns", m.cells.size(), columns), {name, source.number(), 0, ""});
  return m;
}

class RecordsOfMatrix {
 public:
  explicit RecordsOfMatrix(Matrix matrix)
      : m_(std::move(matrix)), near_(m_.names.size()), far_(m_.names.size()), place_(m_.names.size()) {
    out_.version = 1;
    out_.unknown = std::move(m_.unknown);
  }

  Result<Records> build() {
    BUSBAR_RETURN_IF_ERROR(check_cells());
    place_nics();
    for (std::uint32_t i = 0; i < m_.names.size(); ++i) add_device(i);
    add_links();
    return std::move(out_);
  }

 private:
  bool is_gpu(std::size_t i) const { return m_.names[i].starts_with("GPU"); }
  const std::string& cell(std::size_t i, std::size_t j) const { return m_.cells[i][j]; }

  Status check_cells() {
    for (std::uint32_t i = 0; i < m_.names.size(); ++i)
      for (std::uint32_t j = 0; j < m_.names.size(); ++j) {
        const std::string& c = cell(i, j);
        const Where where{"", m_.line[i], 0, m_.names[i]};
        if (c == "X") {
          if (i != j) return invalid(fmt::format("'X' in the column of {}", m_.names[j]), where);
          continue;
        }
        if (i == j) return invalid("the cell of a device with itself is 'X'", where);
        if (c != cell(j, i))
          return invalid(fmt::format("{} here, {} in the row of {}", c, cell(j, i), m_.names[j]), where);
        if (c == "PIX") near_.join(i, j);
        if (c == "PIX" || c == "PXB") far_.join(i, j);
        const bool bonded = number_after(c, "NV").has_value();
        if (!bonded && c != "PIX" && c != "PXB" && c != "PHB" && c != "NODE" && c != "SYS" && c != "SOC")
          add_unknown(out_.unknown, m_.line[i], fmt::format("cell {}", c));
      }
    return {};
  }

  /// NICs have no affinity in the file. They get that of a device to which they are not SYS.
  void place_nics() {
    int highest = 0;
    for (const int n : m_.numa) highest = std::max(highest, n);
    for (std::size_t i = 0; i < m_.names.size(); ++i) {
      for (std::size_t j = 0; j < m_.names.size() && m_.numa[i] < 0; ++j) {
        const std::string& c = cell(i, j);
        const bool local = c == "PIX" || c == "PXB" || c == "PHB" || c == "NODE";
        if (i != j && local && m_.numa[j] >= 0) m_.numa[i] = m_.numa[j];
      }
      if (m_.numa[i] < 0) m_.numa[i] = is_gpu(i) ? 0 : ++highest;
    }
  }

  std::size_t cpu_of(int numa) {
    const auto [at, fresh] = cpus_.try_emplace(numa, out_.all.size());
    if (fresh) {
      Record r;
      r.kind = RecordKind::kCpu;
      r.said.numa_id = numa;
      out_.all.push_back(std::move(r));
    }
    return at->second;
  }

  std::size_t add_pci(std::size_t parent, std::uint32_t pci_class) {
    Record r;
    r.kind = RecordKind::kPci;
    r.parent = parent;
    r.said.bus_id = fmt::format("{:04x}:00:00.0", out_.all.size());
    r.said.pci_class = pci_class;
    ++out_.all[parent].children;
    out_.all.push_back(std::move(r));
    return out_.all.size() - 1;
  }

  std::size_t switch_of(std::map<std::size_t, std::size_t>& known, std::size_t group, std::size_t parent) {
    if (const auto at = known.find(group); at != known.end()) return at->second;
    return known[group] = add_pci(parent, 0x060400);
  }

  void add_device(std::uint32_t i) {
    std::size_t parent = cpu_of(m_.numa[i]);
    if (far_.members(i) > near_.members(i)) parent = switch_of(upper_, far_.find(i), parent);
    if (far_.members(i) > 1) parent = switch_of(lower_, near_.find(i), parent);
    place_[i] = add_pci(parent, is_gpu(i) ? 0x030200 : 0x020000);
    Record& r = out_.all[place_[i]];
    if (is_gpu(i)) {
      r.has_gpu = true;
      r.said.dev = r.said.rank = number_after(m_.names[i], "GPU").value_or(-1);
      return;
    }
    r.has_nic = true;
    ImportedPort port;
    port.name = m_.legend.contains(m_.names[i]) ? m_.legend[m_.names[i]] : m_.names[i];
    port.dev = static_cast<int>(nics_++);
    r.ports.push_back(std::move(port));
  }

  void add_links() {
    for (std::size_t i = 0; i < m_.names.size(); ++i) {
      std::int64_t sum = 0, most = 0;
      for (std::size_t j = 0; j < m_.names.size(); ++j) {
        const std::int64_t lanes = number_after(cell(i, j), "NV").value_or(0);
        sum += lanes;
        most = std::max(most, lanes);
      }
      if (sum > kMostLinksOfAGpu) {
        add_link(i, "ffff:00:00.0", most, 0x068000);
        continue;
      }
      for (std::size_t j = 0; j < m_.names.size(); ++j)
        if (const auto lanes = number_after(cell(i, j), "NV"))
          add_link(i, out_.all[place_[j]].said.bus_id, *lanes, 0x030200);
    }
  }

  void add_link(std::size_t i, std::string target, std::int64_t lanes, std::uint32_t target_class) {
    if (lanes <= 0 || !is_gpu(i)) return;
    LinkRecord l;
    l.kind = LinkRecord::Kind::kNvlink;
    l.target = std::move(target);
    l.count = lanes;
    l.target_class = target_class;
    l.where.line = m_.line[i];
    out_.all[place_[i]].links.push_back(std::move(l));
  }

  Matrix m_;
  Records out_;
  DisjointSets near_, far_;  ///< devices that PIX joins, and PIX or PXB
  std::vector<std::size_t> place_;
  std::map<int, std::size_t> cpus_;
  std::map<std::size_t, std::size_t> upper_, lower_;
  std::size_t nics_ = 0;
};

}  // namespace

bool looks_like_nvidia_smi_matrix(std::string_view head) {
  const std::string_view text = head.substr(0, 4096);
  if (text.find("GPU0\t") != text.npos) return text.find(" X ") != text.npos || text.find("CPU Affinity") != text.npos;
  for (const std::string_view line : split_at(text, '\n')) {
    if (!trimmed(line).starts_with("GPU0")) continue;
    const std::vector<std::string> cells = smi_cells(line);
    if (cells.size() > 1 && cells[0] == "GPU0" && cells[1] == "X") return true;
  }
  return false;
}

Result<ImportedMachine> read_nvidia_smi_matrix(std::string_view text, const std::string& name,
                                               const topology::PartFigures& figures) {
  BUSBAR_ASSIGN(Matrix matrix, read_matrix(text, name));
  Result<Records> records = RecordsOfMatrix(std::move(matrix)).build();
  if (!records.ok()) {
    records.error().where.file = name;
    return records.error();
  }
  return build_machine(std::move(*records), figures, name);
}

}  // namespace busbar::formats
