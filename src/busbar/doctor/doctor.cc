#include "busbar/doctor/doctor.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/formats/flight_recorder.h"
#include "busbar/formats/import.h"
#include "busbar/formats/odd_cables.h"

namespace busbar::doctor {

namespace {

/// Adds the facts of a dump of the flight recorder. One that is broken says nothing, but does not stop the diagnosis.
Status read_dump(formats::ImportSource& source, const FactTables& tables, Evidence& evidence) {
  BUSBAR_ASSIGN(const std::string_view dump, source.whole());
  const Result<std::string> said = formats::flight_recorder_lines(dump, source.name());
  const std::string text = said.ok() ? *said : "";
  formats::LineSource lines = formats::LineSource::of_text(text, source.name());
  const int index = tables.read(lines, evidence);
  if (!said.ok()) evidence.file(index).stopped = said.error().message;
  return {};
}

/// The cables as lines of catalog/evidence/network-cables.yaml. Each stands where the file lists it: the text has empty
/// lines before it.
std::string say_odd_cables(std::vector<formats::OddCable> odd) {
  std::stable_sort(odd.begin(), odd.end(),
                   [](const formats::OddCable& a, const formats::OddCable& b) { return a.line < b.line; });
  std::string out;
  int line = 1;
  for (const formats::OddCable& c : odd) {
    for (; line < c.line; ++line) out += '\n';
    out += fmt::format("network cable {} is {}: {}; ", c.part, c.missing ? "missing" : "slow", c.explanation);
  }
  return out + fmt::format("\nnetwork cables compared: {} differ\n", odd.size());
}

/// Adds the cables of a listed network that differ from their like. False if the source lists no network.
Result<bool> read_network(formats::ImportSource& source, const FactTables& tables, Evidence& evidence) {
  const Result<std::optional<std::vector<formats::OddCable>>> odd = formats::find_odd_cables(source);
  if (odd.ok() && !odd->has_value()) return false;
  const std::string text = odd.ok() ? say_odd_cables(**odd) : "";
  formats::LineSource lines = formats::LineSource::of_text(text, source.name());
  const int index = tables.read(lines, evidence);
  BUSBAR_ASSIGN(formats::LineSource all, source.lines());
  std::uint64_t& count = evidence.file(index).lines = 0;
  for (std::string_view line; all.next(line);) ++count;
  const Status done = odd.ok() ? source.complete() : Status(odd.error());
  if (!done.ok()) evidence.file(index).stopped = done.error().message;
  return true;
}

/// Adds the facts of one file.
Status read_file(formats::ImportSource& source, const FactTables& tables, Evidence& evidence, StopFlag stop) {
  if (formats::looks_like_flight_recorder(source.head())) return read_dump(source, tables, evidence);
  BUSBAR_ASSIGN(const bool network, read_network(source, tables, evidence));
  if (network) return {};
  BUSBAR_ASSIGN(formats::LineSource lines, source.lines());
  const int index = tables.read(lines, evidence, stop);
  if (stops(stop)) return {};
  if (const Status done = source.complete(); !done.ok()) evidence.file(index).stopped = done.error().message;
  return {};
}

Status read_input(Input input, const FactTables& tables, Evidence& evidence, StopFlag stop) {
  BUSBAR_ASSIGN(formats::ImportSource source, formats::ImportSource::of_input(std::move(input)));
  const std::size_t first = evidence.files().size();
  BUSBAR_RETURN_IF_ERROR(read_file(source, tables, evidence, stop));
  for (std::size_t i = first; i < evidence.files().size(); ++i)
    evidence.file(static_cast<int>(i)).archive = source.archive();
  return {};
}

}  // namespace

Status read_evidence(const std::string& name, const FactTables& tables, Evidence& evidence, StopFlag stop) {
  BUSBAR_ASSIGN(InputFiles files, InputFiles::open(name));
  while (!stops(stop)) {
    Result<std::optional<Input>> file = files.next();
    if (file.ok() && !*file) break;
    const Status read = file.ok() ? read_input(std::move(**file), tables, evidence, stop) : Status(file.error());
    if (read.ok()) continue;
    if (!files.several()) return read;
    const int index = evidence.add_file(read.error().where.file);
    evidence.file(index).stopped = read.error().message;
  }
  return {};
}

Result<std::vector<std::string>> evidence_in(const std::string& name, const FactTables& tables) {
  BUSBAR_ASSIGN(const formats::ImportSource source, formats::ImportSource::open(name));
  formats::LineSource lines = formats::LineSource::of_text(source.head(), name);
  Evidence evidence;
  tables.read(lines, evidence);
  std::vector<std::string> out;
  for (const EvidenceFile& f : evidence.files())
    for (const FactTable& t : tables.tables())
      if (std::find(f.kinds.begin(), f.kinds.end(), t.name) != f.kinds.end()) out.push_back(t.title);
  return out;
}

}  // namespace busbar::doctor
