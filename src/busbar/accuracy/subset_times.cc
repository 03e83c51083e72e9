#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "busbar/accuracy/localize.h"
#include "busbar/accuracy/results_file.h"
#include "busbar/base/csv.h"
#include "busbar/base/input.h"
#include "busbar/formats/copy_matrix.h"

namespace busbar::accuracy {
namespace {

/// Which GPUs a kind of measurement uses.
class Subsets {
 public:
  explicit Subsets(const topology::Topology& t) : t_(t) {
    for (std::uint32_t g = 0; g < t.gpus().size(); ++g) nodes_[index(t.block_of(t.gpus()[g]))].push_back(g);
  }

  Result<SubsetTime> node(std::uint32_t n, const Where& where) const {
    BUSBAR_ASSIGN(const auto gpus, of_node(n, where));
    return SubsetTime{fmt::format("node {}", n), "node", gpus};
  }
  Result<SubsetTime> nodes(std::uint32_t a, std::uint32_t b, const Where& where) const {
    BUSBAR_ASSIGN(auto gpus, of_node(a, where));
    BUSBAR_ASSIGN(const auto more, of_node(b, where));
    gpus.insert(gpus.end(), more.begin(), more.end());
    return SubsetTime{fmt::format("nodes {} and {}", a, b), "pair", gpus};
  }
  Result<SubsetTime> rail(std::uint32_t r, const Where& where) const {
    SubsetTime out{fmt::format("rail {}", r), "rail", {}};
    for (const auto& [block, gpus] : nodes_)
      if (r < gpus.size()) out.gpus.push_back(gpus[r]);
    if (out.gpus.size() < 2) return invalid(fmt::format("rail {} needs GPU {} on two nodes", r, r), where);
    return out;
  }
  Result<SubsetTime> pair(std::uint32_t a, std::uint32_t b, const Where& where) const {
    const std::size_t n = t_.gpus().size();
    if (a >= n || b >= n || a == b)
      return invalid(fmt::format("GPUs {} and {}; the machine has GPUs 0 to {}", a, b, n - 1), where);
    return SubsetTime{fmt::format("GPU {} to GPU {}", a, b), "gpu pair", {a, b}};
  }

 private:
  Result<std::vector<std::uint32_t>> of_node(std::uint32_t n, const Where& where) const {
    const auto at = nodes_.find(n);
    if (at != nodes_.end()) return at->second;
    return invalid(fmt::format("node {}; the machine has nodes 0 to {}", n, nodes_.size() - 1), where);
  }
  const topology::Topology& t_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> nodes_;
};

/// The numbers that follow `word` in a file's name: "pair-0-3", "rail5".
std::vector<std::uint32_t> numbers_after(std::string_view name, std::string_view word) {
  std::vector<std::uint32_t> out;
  std::size_t at = name.rfind(word);
  if (at == name.npos) return out;
  at += word.size();
  for (;;) {
    if (at < name.size() && (name[at] == '-' || name[at] == '_')) ++at;
    std::uint32_t n = 0;
    const auto read = std::from_chars(name.data() + at, name.data() + name.size(), n);
    if (read.ec != std::errc()) return out;
    out.push_back(n);
    at = static_cast<std::size_t>(read.ptr - name.data());
  }
}

/// The measurement that a file's name states; empty: none.
Result<std::optional<SubsetTime>> of_name(const std::string& file, const Subsets& subsets) {
  const std::string name = file.substr(file.find_last_of('/') + 1);
  const Where where{file, 0, 0, ""};
  const auto pair = numbers_after(name, "pair"), rail = numbers_after(name, "rail"), node = numbers_after(name, "node");
  if (pair.size() < 2 && rail.empty() && node.empty()) return std::optional<SubsetTime>();
  BUSBAR_ASSIGN(SubsetTime out, pair.size() >= 2 ? subsets.nodes(pair[0], pair[1], where)
                                : !rail.empty()  ? subsets.rail(rail[0], where)
                                                 : subsets.node(node[0], where));
  return std::optional(std::move(out));
}

/// us per byte of a row; its place if there is none.
Result<double> time_of_row(const CsvTable& t, std::size_t row) {
  BUSBAR_ASSIGN(const auto us, t.number(row, "time_us"));
  BUSBAR_ASSIGN(const auto size, t.number(row, "size_bytes"));
  if (us && size && *us > 0 && *size > 0) return *us / *size;
  for (const char* column : {"busbw_GBps", "GBps"}) {
    BUSBAR_ASSIGN(const auto rate, t.number(row, column));
    if (rate && *rate > 0) return 1e-3 / *rate;
  }
  return invalid("a row needs busbw_GBps or GBps above 0, or size_bytes and time_us", t.where(row, ""));
}

bool is_subset_table(const CsvTable& t) {
  const auto has = [&](const char* c) { return t.column(c) != CsvTable::kAbsent; };
  return has("node") || has("rail") || (has("node_a") && has("node_b")) || (has("src") && has("dst"));
}

Result<std::vector<SubsetTime>> of_table(const CsvTable& t, const Subsets& subsets) {
  std::vector<SubsetTime> out;
  for (std::size_t row = 0; row < t.rows(); ++row) {
    const auto whole = [&](const char* column) -> Result<std::optional<std::uint32_t>> {
      BUSBAR_ASSIGN(const auto n, t.number(row, column));
      if (!n) return std::optional<std::uint32_t>();
      if (*n < 0 || *n > 1e9 || *n != std::floor(*n)) return invalid("not a number of a part", t.where(row, column));
      return std::optional(static_cast<std::uint32_t>(*n));
    };
    const Where where = t.where(row, "");
    BUSBAR_ASSIGN(const auto node, whole("node"));
    BUSBAR_ASSIGN(const auto rail, whole("rail"));
    BUSBAR_ASSIGN(const auto a, whole(t.column("src") != CsvTable::kAbsent ? "src" : "node_a"));
    BUSBAR_ASSIGN(const auto b, whole(t.column("dst") != CsvTable::kAbsent ? "dst" : "node_b"));
    if (!node && !rail && (!a || !b)) return invalid("the row names no part: node, rail, or both of a pair", where);
    if (a && b && *a == *b) continue;  // the diagonal of a matrix
    const bool gpus = t.column("src") != CsvTable::kAbsent;
    BUSBAR_ASSIGN(SubsetTime m, node   ? subsets.node(*node, where)
                                : rail ? subsets.rail(*rail, where)
                                : gpus ? subsets.pair(*a, *b, where)
                                       : subsets.nodes(*a, *b, where));
    BUSBAR_ASSIGN(m.us_per_byte, time_of_row(t, row));
    m.file = t.file();
    m.line = where.line;
    out.push_back(std::move(m));
  }
  return out;
}

/// Rates between GPUs: with P2P on, if the file says so. Null: there are none.
const formats::CopyMatrix* rates_of(const formats::CopyTest& test) {
  const formats::CopyMatrix* first = nullptr;
  for (const formats::CopyMatrix& m : test.matrices) {
    if (m.title.find("Connectivity") != m.title.npos || m.title.find("Latency") != m.title.npos) continue;
    if (m.title.find("P2P=Enabled") != m.title.npos) return &m;
    if (first == nullptr) first = &m;
  }
  return first;
}

Result<std::vector<SubsetTime>> of_matrix(std::string_view text, const std::string& file, const Subsets& subsets) {
  BUSBAR_ASSIGN(const formats::CopyTest test, formats::read_copy_matrices(text, file));
  std::vector<SubsetTime> out;
  const formats::CopyMatrix* const m = rates_of(test);
  const auto gpus = static_cast<std::uint32_t>(m == nullptr ? 0 : m->cells.size());
  for (std::uint32_t a = 0; a < gpus; ++a)
    for (std::uint32_t b = 0; b < gpus; ++b) {
      if (a == b || m->cells[a][b] <= 0) continue;
      const int line = m->first_line + 1 + static_cast<int>(a);
      BUSBAR_ASSIGN(SubsetTime t, subsets.pair(a, b, {file, line, 0, ""}));
      t.us_per_byte = 1e-3 / m->cells[a][b];
      t.file = file;
      t.line = line;
      out.push_back(std::move(t));
    }
  return out;
}

}  // namespace

Result<std::vector<SubsetTime>> read_subset_times(const std::string& file, const topology::Topology& topology) {
  const Subsets subsets(topology);
  BUSBAR_ASSIGN(const std::string text, read_text(file));
  const std::string_view head = std::string_view(text).substr(0, text.find('\n'));
  if (head.find(',') != head.npos) {
    BUSBAR_ASSIGN(const CsvTable table, CsvTable::parse(text, file));
    if (is_subset_table(table)) return of_table(table, subsets);
  }
  BUSBAR_ASSIGN(auto named, of_name(file, subsets));
  if (named) {
    BUSBAR_ASSIGN(const MeasuredResults results, parse_results(text, file));
    named->us_per_byte = results.rows.back().us / static_cast<double>(results.rows.back().size_bytes);
    named->file = file;
    return std::vector{std::move(*named)};
  }
  BUSBAR_ASSIGN(auto pairs, of_matrix(text, file, subsets));
  if (!pairs.empty()) return pairs;
  return invalid(
      "it does not say which part was measured; name the file node-2, rail-5 or pair-0-3, or give a CSV with the "
      "columns "
      "node, rail, node_a and node_b, or src and dst, and busbw_GBps",
      {file, 0, 0, ""});
}

}  // namespace busbar::accuracy
