#include "busbar/formats/perf_table.h"

#include <algorithm>
#include <map>

#include "busbar/collectives/schedule.h"

namespace busbar::formats {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  LineCursor c(line);
  for (c.blanks(); !c.at_end(); c.blanks()) out.push_back(c.word());
  return out;
}

template <typename T>
bool whole(std::string_view word, T& out) {
  LineCursor c(word);
  if constexpr (std::is_same_v<T, double>) {
    return c.number(out) && c.at_end();
  } else {
    return c.integer(out, -1, INT64_MAX) && c.at_end();
  }
}

/// The columns according to the second header line.
struct Layout {
  bool op = false, root = false, stamp = false;
  std::size_t halves = 0, per_half = 0;  ///< 1 or 2; 4, or 8 with statistics per iteration
};

std::optional<Layout> read_layout(const std::vector<std::string_view>& words) {
  Layout l;
  std::size_t columns = 0;
  for (const std::string_view w : words) {
    l.op = l.op || w == "redop";
    l.root = l.root || w == "root";
    l.halves += w == "time" || w == "cpu_time" || w == "cputime";
    l.stamp = l.stamp || w == "timestamp";
    if (l.halves == 1) ++columns;
  }
  l.per_half = columns;
  const bool size = std::find(words.begin(), words.end(), "size") != words.end();
  return size && l.halves >= 1 && l.halves <= 2 && columns >= 4 ? std::optional(l) : std::nullopt;
}

/// The operation that a command before a table names, "mpirun ... ./build/all_reduce_perf -b 8".
class NamedProgram {
 public:
  void read_line(std::string_view line) {
    constexpr std::string_view kEnd = "_perf";
    const std::size_t at = line.find(kEnd);
    if (at == line.npos) return;
    const std::string_view after = line.substr(at + kEnd.size());
    if (!after.empty() && after[0] != ' ' && !after.starts_with("_mpi")) return;  // Makefile: NAME_SUFFIX=_mpi
    const std::string_view word = line.substr(0, at);
    const std::string name(word.substr(word.find_last_of(" /'\"=") + 1));
    if (!collectives::parse_collective(name).ok()) return;
    several_ = several_ || (!taken_ && !name_.empty() && name_ != name);
    taken_ = false;
    name_ = name;
  }
  /// For the table that begins now; empty if none or several are named.
  std::string take() {
    const std::string name = several_ ? "" : name_;
    if (several_) *this = {};
    taken_ = true;  // the next command is of the next table
    return name;
  }

 private:
  std::string name_;
  bool several_ = false, taken_ = false;
};

class TableReader {
 public:
  TableReader(PerfResults& out, NamedProgram& program) : out_(out), program_(program) {}

  void read_line(std::string_view line, int number) {
    number_ = number;
    const std::string_view text = trimmed(line);
    if (text.empty()) return;
    if (text[0] == '#') {
      read_comment(text);
    } else if (layout_ && text[0] >= '0' && text[0] <= '9') {
      read_row(text);
    } else {
      ++out_.other_lines;
      program_.read_line(text);
    }
  }

 private:
  /// The current table. After rows, a comment that opens a run starts a new table.
  PerfTable& table(bool opens) {
    if (table_ == kNone || (opens && !out_.tables[table_].rows.empty())) {
      table_ = out_.tables.size();
      out_.tables.emplace_back();
      layout_.reset();
    }
    return out_.tables[table_];
  }

  void read_comment(std::string_view text) {
    LineCursor c(text.substr(1));
    c.blanks();
    if (c.accept("nThread ") || c.accept("nThread: ")) {
      table(true).settings = trimmed(text.substr(1));
    } else if (c.accept("nccl-tests version ") || c.accept("rccl-tests version ")) {
      PerfTable& t = table(true);
      t.version = c.word();
      const std::size_t library = text.find("library=");
      if (library != text.npos) t.library = LineCursor(text.substr(library + 8)).word();
    } else if (c.accept("Collective test starting: ")) {
      t_name(c.word());
    } else if (c.accept("Rank ")) {
      read_rank(c, text);
    } else if (c.accept("Out of bounds values : ")) {
      table(false).out_of_bounds = trimmed(c.rest());
    } else if (c.accept("Avg bus bandwidth")) {
      c.blanks();
      double average = 0;
      if (c.accept(":")) c.blanks();
      if (c.number(average)) table(false).average_busbw_GBps = average;
    } else if (const auto layout = read_layout(words_of(c.rest()))) {
      table(true);
      layout_ = layout;
    }
  }

  void t_name(std::string_view name) {
    if (name.ends_with("_perf")) name.remove_suffix(5);
    table(true).collective = name;
  }

  /// "Rank  0 Group  0 Pid 1234 on nodeA device  0 [0000:18:00] NVIDIA H100": older releases have no Group.
  void read_rank(LineCursor c, std::string_view text) {
    PerfRank r;
    c.blanks();
    if (!c.integer(r.rank, 0, 1 << 24)) return cut_off(text);
    const std::size_t on = c.rest().find(" on "), device = c.rest().find(" device ");
    if (on == text.npos || device == text.npos || device < on) return cut_off(text);
    r.host = trimmed(c.rest().substr(on + 4, device - on - 4));
    LineCursor d(trimmed(c.rest().substr(device + 8)));
    if (!d.integer(r.device, 0, 1024)) return cut_off(text);
    d.blanks();
    if (d.accept("[")) {
      r.bus = d.until("]");
      d.accept("]");
    }
    r.product = trimmed(d.rest());
    table(true).ranks.push_back(std::move(r));
  }

  void read_row(std::string_view text) {
    const std::vector<std::string_view> words = words_of(text);
    const Layout& l = *layout_;
    const std::size_t fixed = 3 + (l.op ? 1 : 0) + (l.root ? 1 : 0);
    PerfRow row;
    row.line = number_;
    std::size_t at = 0;
    // Some collectives leave the operation blank although the header lists it.
    const std::size_t expected = fixed + l.halves * l.per_half;
    const bool blank_op = l.op && words.size() + 1 == expected;
    if (words.size() != expected && !blank_op) return cut_off(text);
    if (!whole(words[at++], row.size_bytes) || !whole(words[at++], row.count)) return cut_off(text);
    row.type = words[at++];
    if (l.op && !blank_op) row.op = words[at++];
    if (row.op == "none") row.op.clear();
    if (l.root && !whole(words[at++], row.root)) return cut_off(text);
    for (std::size_t half = 0; half < l.halves; ++half, at += l.per_half) {
      PerfTiming t;
      double wrong = 0;
      const std::string_view checked = words[at + 3];
      if (words[at] == "-" || words[at] == "N/A") continue;
      if (!whole(words[at], t.time_us) || !whole(words[at + 1], t.algbw_GBps) || !whole(words[at + 2], t.busbw_GBps))
        return cut_off(text);
      if (checked != "N/A" && !whole(checked, wrong)) return cut_off(text);
      if (checked != "N/A") t.wrong = wrong;
      (half == 0 ? row.out_of_place : row.in_place) = t;
    }
    PerfTable& t = table(false);
    if (t.rows.empty() && t.collective.empty()) t.collective = program_.take();
    t.rows.push_back(std::move(row));
  }

  void cut_off(std::string_view text) {
    constexpr std::size_t kShown = 60, kMost = 200;
    const std::size_t known = out_.unknown.size();
    if (known < kMost)
      add_unknown(out_.unknown, number_, "cut off: " + std::string(text.substr(0, kShown)));
    else
      ++out_.unknown.back().count;
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  PerfResults& out_;
  NamedProgram& program_;
  std::size_t table_ = kNone;  ///< the current one
  std::optional<Layout> layout_;
  int number_ = 0;
};

}  // namespace

bool looks_like_perf_table(std::string_view head) {
  return head.find("# nThread") != head.npos || head.find("# nccl-tests version") != head.npos ||
         (head.find("algbw") != head.npos && head.find("busbw") != head.npos && head.find('#') != head.npos);
}

Result<PerfResults> read_perf_table(LineSource& source) {
  PerfResults out;
  NamedProgram program;
  std::map<std::string, TableReader> readers;  // by source: their lines may alternate
  source.skip_prefixes();
  for (std::string_view line; source.next(line);)
    readers.try_emplace(source.prefix().source(), out, program).first->second.read_line(line, source.number());
  const bool rows =
      std::any_of(out.tables.begin(), out.tables.end(), [](const PerfTable& t) { return !t.rows.empty(); });
  if (!rows)
    return invalid("no row of nccl-tests in this file; a table begins with '#  size  count  type'",
                   {source.name(), 0, 0, ""});
  return out;
}

}  // namespace busbar::formats
