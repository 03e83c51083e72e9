// Compares the table of docs/collectives.md with the builders' moves, and the moves with the edges.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "busbar/collectives/edges.h"
#include "busbar/collectives/every_schedule.h"
#include "busbar/collectives/moves.h"

namespace busbar::collectives {
namespace {

/// Sums, products, quotients, parentheses, "2(n-1)" for 2 x (n-1), ceil(x), log2(x) and one-letter variables.
class Formula {
 public:
  Formula(const std::string& text, const std::map<char, double>& variables) : variables_(variables) {
    for (const char c : text)
      if (c != ' ') text_ += c;
  }
  double value() {
    const double v = sum();
    EXPECT_EQ(at_, text_.size()) << "cannot read '" << text_ << "' from " << at_;
    return v;
  }

 private:
  bool take(std::string_view s) {
    if (text_.compare(at_, s.size(), s) != 0) return false;
    at_ += s.size();
    return true;
  }
  double sum() {
    double v = product();
    for (;;) {
      if (take("+"))
        v += product();
      else if (take("-"))
        v -= product();
      else
        return v;
    }
  }
  double product() {
    double v = factor();
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (take("/"))
        v /= factor();
      else if (c == '(' || std::isalpha(static_cast<unsigned char>(c)) != 0)
        v *= factor();
      else
        break;
    }
    return v;
  }
  double factor() {
    if (take("ceil")) return std::ceil(factor());
    if (take("log2")) return std::log2(factor());
    if (take("(")) {
      const double v = sum();
      EXPECT_TRUE(take(")")) << text_;
      return v;
    }
    if (at_ < text_.size() && variables_.contains(text_[at_])) return variables_.at(text_[at_++]);
    std::size_t used = 0;
    const double v = std::stod(text_.substr(at_), &used);
    at_ += used;
    return v;
  }

  std::string text_;
  const std::map<char, double>& variables_;
  std::size_t at_ = 0;
};

using Row = std::map<std::string, std::string>;  ///< heading -> cell

/// One rank sends nothing, and with domains of one rank nvls is only rings: the table has no row for them.
bool has_no_row(const BuiltCase& c) {
  return c.schedule.ranks == 1 || (c.schedule.algorithm == "nvls" && c.group_size == 1);
}

/// The variables of the cells; x and y are the two factors of n nearest to each other.
std::map<char, double> variables_of(const BuiltCase& c) {
  const std::uint32_t n = c.schedule.ranks;
  std::uint32_t y = 1;
  for (std::uint32_t d = 1; d * d <= n; ++d)
    if (n % d == 0) y = d;
  return {{'n', n}, {'l', c.group_size}, {'g', n / c.group_size}, {'p', std::bit_floor(n)}, {'x', n / y}, {'y', y}};
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> out;
  std::stringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const auto first = cell.find_first_not_of(' ');
    out.push_back(first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return out;
}

/// Rows of the table in docs/collectives.md by "algorithm collective".
std::map<std::string, Row> documented() {
  std::ifstream in("docs/collectives.md");
  EXPECT_TRUE(in) << "run the test from the top of the source tree";
  std::map<std::string, Row> rows;
  std::vector<std::string> headings;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] != '|' || line[1] == '-') continue;
    const auto cells = cells_of(line);
    if (headings.empty()) {
      headings = cells;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < headings.size(); ++i) row[headings[i]] = cells.at(i);
    EXPECT_TRUE(rows.emplace(cells.at(0) + " " + cells.at(1), row).second) << "twice: " << line;
  }
  return rows;
}

using EdgeChunks = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>;

EdgeChunks chunks_by_moves(const Schedule& s, const Phase& p) {
  EdgeChunks out;
  for (std::uint32_t r = 0; r < rounds(s, p); ++r)
    for_each_move(s, p, r, [&](const Move& m) { out[{m.src, m.dst}] += m.chunk_count; });
  return out;
}

struct Counts {
  std::vector<std::uint64_t> sent, received;  ///< chunks, per rank
  std::uint64_t across = 0, total = 0, most = 0;
  std::map<std::uint32_t, std::uint64_t> steps;  ///< per channel
};

Counts count(const BuiltCase& c) {
  const Schedule& s = c.schedule;
  Counts out{std::vector<std::uint64_t>(s.ranks), std::vector<std::uint64_t>(s.ranks), 0, 0, 0, {}};
  for (const Phase& p : s.phases) {
    out.steps[p.channel] += rounds(s, p);
    for (const auto& [edge, chunks] : chunks_by_moves(s, p)) {
      if (edge.first < s.ranks) out.sent[edge.first] += chunks, out.total += chunks;
      if (edge.second < s.ranks) out.received[edge.second] += chunks;
      if (edge.first >= s.ranks || edge.second >= s.ranks) continue;
      if (edge.first / c.group_size != edge.second / c.group_size) out.across += chunks;
    }
  }
  for (const auto* per_rank : {&out.sent, &out.received})
    for (const std::uint64_t chunks : *per_rank) out.most = std::max(out.most, chunks);
  return out;
}

TEST(Laws, OfTheDocumentedTableHoldForEverySchedule) {
  const auto rows = documented();
  std::map<std::string, int> seen;
  for_every_schedule([&](const BuiltCase& c) {
    const Schedule& s = c.schedule;
    const std::string name = s.algorithm + " " + name_of(s.op);
    if (c.schedule.ranks == 1) EXPECT_EQ(count(c).total, 0u) << c.text();
    if (has_no_row(c)) return;
    ASSERT_TRUE(rows.contains(name)) << "docs/collectives.md has no row for " << name;
    ++seen[name];
    const Row& row = rows.at(name);
    const double n = s.ranks;
    const auto variables = variables_of(c);
    const auto cell = [&](const char* heading) { return Formula(row.at(heading), variables).value(); };
    const Counts counts = count(c);
    const double all = n * s.chunks_per_buffer();  // n times S, in chunks
    if (row.at("Chunks") != "-") EXPECT_EQ(s.chunks_per_buffer(), cell("Chunks")) << c.text();
    EXPECT_EQ(s.channels, cell("Channels")) << c.text();
    for (const auto& [channel, steps] : counts.steps)
      EXPECT_EQ(steps, cell("Steps")) << c.text() << " channel " << channel;
    if (row.at("Mean / S") != "-") EXPECT_NEAR(counts.total / all, cell("Mean / S"), 1e-12) << c.text();
    if (row.at("Most / S") != "-") EXPECT_LE(counts.most, cell("Most / S") * s.chunks_per_buffer() + 1e-9) << c.text();
    if (row.at("Across / S") != "-") EXPECT_NEAR(counts.across / all, cell("Across / S"), 1e-12) << c.text();
  });
  for (const auto& [name, row] : rows) EXPECT_GT(seen[name], 0) << "no builder for the row " << name;
}

TEST(Laws, MostIsReachedSomewhere) {  // the column is not merely an upper bound
  const auto rows = documented();
  std::map<std::string, double> slack;
  for_every_schedule([&](const BuiltCase& c) {
    const Schedule& s = c.schedule;
    const std::string name = s.algorithm + " " + name_of(s.op);
    if (has_no_row(c) || rows.at(name).at("Most / S") == "-") return;
    const auto variables = variables_of(c);
    const double left =
        Formula(rows.at(name).at("Most / S"), variables).value() - 1.0 * count(c).most / s.chunks_per_buffer();
    slack[name] = slack.contains(name) ? std::min(slack[name], left) : left;
  });
  for (const auto& [name, left] : slack) EXPECT_NEAR(left, 0.0, 1e-12) << name;
}

TEST(Edges, CarryTheChunksOfTheMoves) {
  const auto check = [](const BuiltCase& c) {
    for (const Schedule& s : {c.schedule, with_finer_chunks(c.schedule, 3)})
      for (const Phase& p : s.phases) {
        EdgeChunks edges;
        for (std::uint32_t g = 0; g < s.families[p.family].groups(); ++g)
          for_each_edge(s, p, g, [&](std::uint32_t src, std::uint32_t dst, std::uint64_t chunks) {
            edges[{src, dst}] += chunks;
          });
        ASSERT_EQ(edges, chunks_by_moves(s, p)) << c.text();
      }
  };
  for_every_schedule(check);
  for_every_variant(check);
}

}  // namespace
}  // namespace busbar::collectives
