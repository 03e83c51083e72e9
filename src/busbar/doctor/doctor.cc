#include "busbar/doctor/doctor.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "busbar/formats/flight_recorder.h"
#include "busbar/formats/import.h"
#include "busbar/formats/odd_cables.h"
#include "busbar/formats/tar_archive.h"

namespace busbar {

namespace {

/// Adds the facts of all files of an archive. What is broken stops the reading, but not the diagnosis.
Status read_archive(const ImportSource& source, const FactTables& tables, Evidence& evidence, StopFlag stop) {
  BUSBAR_ASSIGN(const std::unique_ptr<std::istream> in, source.stream());
  TarReader tar(*in, source.name());
  while (!stops(stop)) {
    const Result<bool> more = tar.next();
    if (more.ok() && !*more) break;
    const std::string name = source.name() + ":" + tar.name();
    if (!more.ok()) {
      const Status cause = source.complete();
      const int index = evidence.add_file(source.name());
      evidence.file(index).stopped = cause.ok() ? more.error().message : cause.error().message;
      break;
    }
    LineSource lines = LineSource::of_stream(tar.content(), name);
    evidence.file(tables.read(lines, evidence, stop)).archive = source.name();
  }
  return {};
}

/// Adds the facts of a dump of the flight recorder. One that is broken says nothing, but does not stop the diagnosis.
Status read_dump(ImportSource& source, const FactTables& tables, Evidence& evidence) {
  BUSBAR_ASSIGN(const std::string_view dump, source.whole());
  const Result<std::string> said = flight_recorder_lines(dump, source.name());
  const std::string text = said.ok() ? *said : "";
  LineSource lines = LineSource::of_text(text, source.name());
  const int index = tables.read(lines, evidence);
  if (!said.ok()) evidence.file(index).stopped = said.error().message;
  return {};
}

/// The cables as lines of catalog/evidence/network-cables.yaml. Each stands where the file lists it: the text has empty
/// lines before it.
std::string say_odd_cables(std::vector<OddCable> odd) {
  std::stable_sort(odd.begin(), odd.end(), [](const OddCable& a, const OddCable& b) { return a.line < b.line; });
  std::string out;
  int line = 1;
  for (const OddCable& c : odd) {
    for (; line < c.line; ++line) out += '\n';
    out += fmt::format("network cable {} is {}: {}; ", c.part, c.missing ? "missing" : "slow", c.explanation);
  }
  return out + fmt::format("\nnetwork cables compared: {} differ\n", odd.size());
}

/// Adds the cables of a listed network that differ from their like. False if the source lists no network.
Result<bool> read_network(ImportSource& source, const FactTables& tables, Evidence& evidence) {
  const Result<std::optional<std::vector<OddCable>>> odd = find_odd_cables(source);
  if (odd.ok() && !odd->has_value()) return false;
  const std::string text = odd.ok() ? say_odd_cables(**odd) : "";
  LineSource lines = LineSource::of_text(text, source.name());
  const int index = tables.read(lines, evidence);
  BUSBAR_ASSIGN(LineSource all, source.lines());
  std::uint64_t& count = evidence.file(index).lines = 0;
  for (std::string_view line; all.next(line);) ++count;
  const Status done = odd.ok() ? source.complete() : Status(odd.error());
  if (!done.ok()) evidence.file(index).stopped = done.error().message;
  return true;
}

}  // namespace

Result<std::vector<std::string>> evidence_files(const std::vector<std::string>& words) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  for (const std::string& word : words) {
    std::error_code failed;
    if (!fs::is_directory(word, failed)) {
      out.push_back(word);
      continue;
    }
    std::vector<std::string> inside;
    for (fs::recursive_directory_iterator it(word, fs::directory_options::skip_permission_denied, failed), end;
         !failed && it != end; it.increment(failed)) {
      std::error_code ignored;
      if (it->is_regular_file(ignored)) inside.push_back(it->path().string());
    }
    if (failed) return Error{ErrorCode::kIo, failed.message(), {word, 0, 0, ""}};
    if (inside.empty()) return Error{ErrorCode::kNotFound, "no file is in this folder", {word, 0, 0, ""}};
    std::sort(inside.begin(), inside.end());
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

Status read_evidence(const std::string& file, const FactTables& tables, Evidence& evidence, StopFlag stop) {
  BUSBAR_ASSIGN(ImportSource source, ImportSource::open(file));
  if (looks_like_tar(source.head())) return read_archive(source, tables, evidence, stop);
  if (looks_like_flight_recorder(source.head())) return read_dump(source, tables, evidence);
  BUSBAR_ASSIGN(const bool network, read_network(source, tables, evidence));
  if (network) return {};
  BUSBAR_ASSIGN(LineSource lines, source.lines());
  const int index = tables.read(lines, evidence, stop);
  if (stops(stop)) return {};
  if (const Status done = source.complete(); !done.ok()) evidence.file(index).stopped = done.error().message;
  return {};
}

}  // namespace busbar
