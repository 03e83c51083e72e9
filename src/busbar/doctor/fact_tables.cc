#include "busbar/doctor/fact_tables.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "busbar/doctor/internal/assignment.h"
#include "busbar/doctor/internal/log_prefix.h"
#include "busbar/doctor/internal/nic_distances.h"
#include "busbar/doctor/internal/perftest_rows.h"
#include "busbar/doctor/internal/test_rows.h"
#include "busbar/spec/reading.h"

namespace busbar::doctor {
namespace {

constexpr std::size_t kGram = LinePattern::kGram;

constexpr std::string_view kWarns = " WARN ";

std::uint32_t gram_at(const char* text) {
  std::uint32_t gram = 0;
  std::memcpy(&gram, text, kGram);
  return gram;
}

std::size_t slot_of(std::uint32_t gram) { return (gram * 0x9E3779B1u) >> 16; }

/// What a library says in a line with " WARN ".
std::string warning_in(std::string_view line) {
  const std::size_t at = line.find(kWarns);
  return std::string(at == line.npos ? line : formats::trimmed(line.substr(at + kWarns.size())));
}

constexpr std::string_view kLastError = "Last error:";
constexpr std::string_view kLastWarning = "Last NCCL warning(error): '";

/// A warning that PyTorch or JAX repeats in an exception, as the library prints it; empty: the line is none.
/// `follows`: the line before it announces one; set for the next line.
std::string repeated_warning(std::string_view line, bool& follows) {
  const bool is_warning = follows;
  const std::string_view text = formats::trimmed(line);
  follows = text.ends_with(kLastError);
  std::string_view said;
  if (is_warning) said = text;
  if (const std::size_t at = text.find(kLastWarning); at != text.npos)
    said = text.substr(at + kLastWarning.size(), text.rfind('\'') - at - kLastWarning.size());
  return said.empty() || said.find(kWarns) != said.npos ? std::string() : "NCCL WARN " + std::string(said);
}

/// "2026-11-24 12:00:00" of a logger, or of NCCL itself, which writes it in brackets.
std::string_view time_of(const formats::LinePrefix& prefix, std::string_view line) {
  if (!prefix.time.empty()) return prefix.time;
  const std::size_t end = line.find(']');
  return line.starts_with("[2") && end != line.npos && line.substr(0, end).find(':') != line.npos
             ? line.substr(1, end - 1)
             : std::string_view();
}

Result<FactRow> read_row(const YamlNode& node) {
  FactRow row;
  MapReader r(node);
  const YamlNode line = r.required("line");
  r.optional("fact", &YamlNode::as_string, row.fact);
  r.optional("value", &YamlNode::as_string, row.value);
  r.optional("subject", &YamlNode::as_string, row.subject);
  r.optional("has", &YamlNode::as_string, row.has);
  r.optional("has_not", &YamlNode::as_string, row.has_not);
  r.optional("under", &YamlNode::as_string, row.under);
  r.optional("begins", &YamlNode::as_bool, row.begins);
  r.optional("inside", &YamlNode::as_bool, row.inside);
  r.optional("setting", &YamlNode::as_bool, row.setting);
  r.optional("stays", &YamlNode::as_bool, row.stays);
  r.optional("weak", &YamlNode::as_bool, row.weak);
  r.optional("warns", &YamlNode::as_bool, row.warns);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  BUSBAR_ASSIGN(row.line, LinePattern::read(line));
  if (row.fact.empty() && !row.begins) return node.error("needs a fact, or begins: true");
  return row;
}

/// The line without "3: ", as srun -l puts it first.
std::string_view without_rank(std::string_view line) {
  const std::size_t n = line.find_first_not_of("0123456789");
  return n != 0 && n != line.npos && line.substr(n).starts_with(": ") ? line.substr(n + 2) : std::string_view();
}

}  // namespace

/// Where the line stands, for the facts taken from it.
struct FactTables::LineState {
  Evidence& evidence;
  int file = 0, line = 0;
  std::string_view text;               ///< of the file
  std::string_view host, time;         ///< from what a launcher or logger put before the line
  std::vector<std::uint32_t> facts{};  ///< taken so far
};

Result<FactTables> FactTables::load(const spec::Catalog& catalog) {
  FactTables out;
  for (const std::string& name : catalog.names("evidence")) {
    BUSBAR_ASSIGN(const YamlDocument document, catalog.load("evidence", name));
    BUSBAR_RETURN_IF_ERROR(out.add(document));
  }
  return out;
}

Status FactTables::add(const YamlDocument& document) {
  FactTable table;
  MapReader r = spec::sourced(document.root());
  r.required("name", &YamlNode::as_string, table.name);
  r.required("title", &YamlNode::as_string, table.title);
  r.required("ask", &YamlNode::as_string, table.ask);
  const YamlNode lines = r.required("lines");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  std::vector<FactRow> rows;
  BUSBAR_RETURN_IF_ERROR(spec::read_items(lines, &read_row, rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    FactRow& row = rows[i];
    row.table = tables_.size();
    const auto index = static_cast<std::uint32_t>(rows_.size());
    std::vector<std::size_t>& of_fact = tables_of_[row.fact];
    if (of_fact.empty() || of_fact.back() != row.table) of_fact.push_back(row.table);
    const std::string_view known = row.line.gram().empty() ? std::string_view(row.has) : row.line.gram();
    if (known.size() < kGram) {
      if (!row.inside && !row.line.anchored())
        return lines.item(i).error("needs four letters in sequence, a '^' or inside: true");
      without_gram_.push_back(index);
    } else {
      (row.warns ? by_gram_of_warnings_ : by_gram_).add(gram_at(known.data()), index);
    }
    rows_.push_back(std::move(row));
  }
  tables_.push_back(std::move(table));
  return {};
}

const std::vector<std::size_t>& FactTables::tables_of(std::string_view fact) const {
  static const std::vector<std::size_t> kNone;
  const auto at = tables_of_.find(fact);
  return at == tables_of_.end() ? kNone : at->second;
}

void FactTables::GramIndex::add(std::uint32_t gram, std::uint32_t row) {
  grams_.set(slot_of(gram));
  rows_[gram].push_back(row);
}

void FactTables::GramIndex::find(std::string_view line, std::vector<std::uint32_t>& out) const {
  for (std::size_t at = 0; at + kGram <= line.size(); ++at) {
    const std::uint32_t gram = gram_at(line.data() + at);
    if (!grams_.test(slot_of(gram))) continue;
    if (const auto rows = rows_.find(gram); rows != rows_.end())
      out.insert(out.end(), rows->second.begin(), rows->second.end());
  }
}

/// The rows that may match, in the order of the tables.
void FactTables::find_candidates(std::string_view line, const Section& section, std::vector<std::uint32_t>& out) const {
  out.clear();
  by_gram_.find(line, out);
  if (line.find(kWarns) != line.npos) by_gram_of_warnings_.find(line, out);
  for (const std::uint32_t row : without_gram_)
    if (!rows_[row].inside || (section.open && rows_[row].table == section.table)) out.push_back(row);
  if (out.size() < 2) return;
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

bool FactTables::take(const FactRow& row, std::string_view line, Section& section, LineState& state) const {
  if (row.inside && !(section.open && section.table == row.table)) return false;
  if (!row.under.empty() && !section.heading.starts_with(row.under)) return false;
  if (!row.has.empty() && line.find(row.has) == line.npos) return false;
  if (!row.has_not.empty() && line.find(row.has_not) != line.npos) return false;
  bool taken = false;
  std::size_t from = 0;
  for (LineCaptures c; row.line.match(line, from, c); c = {}) {
    if (row.setting && !is_assignment(line, static_cast<std::size_t>(c.subject.data() - line.data()))) continue;
    if (row.stays && !stays_on_host(line, static_cast<std::size_t>(c.subject.data() - line.data()))) continue;
    taken = true;
    if (row.begins) section = {row.table, true, std::string(c.subject), {}};
    if (row.fact.empty()) break;
    const bool by_section = row.subject.empty() && c.subject.empty() && section.open && section.table == row.table;
    std::string_view host = c.host.empty() ? host_of_log_line(line) : c.host;
    if (host.empty()) host = state.host;
    state.facts.push_back(state.evidence.add({row.fact,
                                              by_section            ? section.subject
                                              : row.subject.empty() ? std::string(c.subject)
                                                                    : row.subject,
                                              row.value.empty()       ? std::string(c.value)
                                              : row.value == "{host}" ? std::string(host)
                                              : row.value == "{text}" ? warning_in(line)
                                                                      : row.value,
                                              std::string(host),
                                              state.file,
                                              state.line,
                                              std::string(state.text),
                                              1,
                                              {},
                                              std::string(state.time)}));
  }
  return taken;
}

/// Whether a row of the section's table counts only under this line.
bool FactTables::is_heading(std::string_view line, const Section& section) const {
  return section.open && std::any_of(rows_.begin(), rows_.end(), [&](const FactRow& row) {
           return row.table == section.table && !row.under.empty() && formats::trimmed(line).starts_with(row.under);
         });
}

int FactTables::read(formats::LineSource& source, Evidence& evidence, StopFlag stop, const EachLine& each) const {
  const int file = evidence.add_file(source.name());
  struct Reading {
    Section section;
    NicDistances distances;
    PerftestRows perftest;
    TestRows test;
    bool error_follows = false;
  };
  std::map<std::string, Reading> readings;  // by source: their lines may alternate
  std::vector<std::uint32_t> candidates;
  std::vector<bool> seen(tables_.size());
  std::uint64_t lines = 0, stated = 0;
  const auto take_line = [&](std::string_view line, Section& section, LineState& state) {
    find_candidates(line, section, candidates);
    bool any = false;
    for (const std::uint32_t row : candidates) {
      if (!take(rows_[row], line, section, state) || rows_[row].weak) continue;
      any = true;
      seen[rows_[row].table] = true;
    }
    evidence.join(state.facts);
    return any;
  };
  source.skip_prefixes();
  for (std::string_view text; !stops(stop) && source.next(text);) {
    ++lines;
    Reading& reading = readings[source.prefix().source()];
    Section& section = reading.section;
    std::string said = reading.distances.said_by(text);
    if (said.empty()) said = reading.perftest.said_by(text);
    if (said.empty()) said = reading.test.said_by(text);
    if (const std::string warning = repeated_warning(text, reading.error_follows); !warning.empty()) said = warning;
    const std::string_view line = said.empty() ? text : said;
    if (section.open && line.find(':') == line.npos) section.heading = formats::trimmed(line);
    LineState state{
        evidence, file, source.number(), source.whole_line(), source.prefix().host, time_of(source.prefix(), text)};
    bool any = take_line(line, section, state);
    // What looks like a prefix may be the subject of the line.
    if (!any && source.prefix().length > 0) any = take_line(source.whole_line(), section, state);
    // A line or two say nothing of a style of labels, but "3: ValueError: x" is a rank's last line.
    if (!any) any = take_line(without_rank(line), section, state);
    stated += any ? 1 : 0;
    if (each)
      each({source.whole_line().substr(0, source.prefix().length), text,
            any || !said.empty() || is_heading(text, section), state.facts});
  }
  EvidenceFile& done = evidence.file(file);
  done.lines = lines;
  if (stops(stop)) done.stopped = interrupted().message;
  done.stated = stated;
  for (std::size_t t = 0; t < tables_.size(); ++t)
    if (seen[t]) done.kinds.push_back(tables_[t].name);
  return file;
}

}  // namespace busbar::doctor
