#include "busbar/doctor/doctor.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "busbar/formats/import.h"

namespace busbar {

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

Status read_evidence(const std::string& file, const FactTables& tables, Evidence& evidence) {
  BUSBAR_ASSIGN(const ImportSource source, ImportSource::open(file));
  BUSBAR_ASSIGN(LineSource lines, source.lines());
  const int index = tables.read(lines, evidence);
  if (const Status done = source.complete(); !done.ok()) evidence.file(index).stopped = done.error().message;
  return {};
}

}  // namespace busbar
