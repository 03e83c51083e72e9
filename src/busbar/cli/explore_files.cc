#include "busbar/cli/explore_files.h"

#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

#include "busbar/base/output.h"
#include "busbar/base/run_files.h"
#include "busbar/spec/scenario.h"
#include "busbar/step/machine.h"

namespace busbar::cli {
namespace {

std::string plain_name(const std::string& name) {
  constexpr std::size_t kLongest = 60;
  std::string out;
  for (const unsigned char c : name.substr(name.size() > kLongest ? name.size() - kLongest : 0))
    out += std::isalnum(c) != 0 || c == '.' || c == '_' ? static_cast<char>(std::tolower(c)) : '-';
  out.erase(0, std::min(out.find_first_not_of("-."), out.size()));
  return out.empty() ? "file.yaml" : out;
}

/// Whether it can be read as what it should be.
Status check_file(ExploreFiles::Kind kind, const std::string& path) {
  const RunFiles files;  // what is read here is no input of an answer
  if (kind == ExploreFiles::Kind::kCluster) {
    const Result<spec::Cluster> cluster = step::load_machine(path, {});
    return cluster.ok() ? Status() : Status(cluster.error());
  }
  spec::ScenarioFlags flags;
  flags.cluster = "dgx-h100";  // any: only the model is read
  flags.model = path;
  const Result<spec::Scenario> scenario = spec::scenario_from_flags(flags, {}, spec::Catalog());
  return scenario.ok() ? Status() : Status(scenario.error());
}

}  // namespace

ExploreFiles::~ExploreFiles() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Status ExploreFiles::make_folder() {
  if (!folder_.empty()) return {};
  std::error_code failed;
  std::string name = (std::filesystem::temp_directory_path(failed) / "busbar-explore-XXXXXX").string();
  if (failed || mkdtemp(name.data()) == nullptr) return Error{ErrorCode::kIo, "no folder for files can be made", {}};
  folder_ = name;
  return {};
}

Result<std::string> ExploreFiles::add(Kind kind, const std::string& name, const std::string& text) {
  const std::lock_guard lock(mutex_);
  BUSBAR_RETURN_IF_ERROR(make_folder());
  const std::pair file(kind, plain_name(name));
  const std::string path = (folder_ / file.second).string(), tried = path + ".new";
  std::error_code ignored;
  BUSBAR_RETURN_IF_ERROR(write_file(tried, text));
  Status usable = check_file(kind, tried);
  if (!usable.ok()) {
    std::filesystem::remove(tried, ignored);
    Error why = usable.error();
    if (why.where.file == tried) why.where.file = file.second;
    return why;
  }
  std::filesystem::rename(tried, path, ignored);
  std::erase_if(files_, [&](const auto& f) { return f.second == file.second; });
  files_.push_back(file);
  if (files_.size() > kMost) {
    std::filesystem::remove(folder_ / files_.front().second, ignored);
    files_.erase(files_.begin());
  }
  return file.second;
}

std::string ExploreFiles::path_of(Kind kind, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const bool known = std::find(files_.begin(), files_.end(), std::pair(kind, name)) != files_.end();
  return known ? (folder_ / name).string() : "";
}

std::string ExploreFiles::without_folder(std::string text) const {
  const std::lock_guard lock(mutex_);
  if (folder_.empty()) return text;
  const std::string folder = folder_.string() + "/";
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at))
    text.erase(at, folder.size());
  return text;
}

}  // namespace busbar::cli
