#include "busbar/spec/catalog.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

#include "busbar/base/text.h"

namespace busbar::spec {
namespace {

namespace fs = std::filesystem;

/// A name is a word, never a path.
bool is_name(std::string_view s) {
  if (s.empty() || s.size() > 64 || s.front() == '.') return false;
  return std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

const EmbeddedFile* find_embedded(std::string_view folder, std::string_view name) {
  for (const EmbeddedFile& file : embedded_catalog()) {
    const bool hit = file.name.size() == folder.size() + 1 + name.size() && file.name.starts_with(folder) &&
                     file.name[folder.size()] == '/' && file.name.ends_with(name);
    if (hit) return &file;
  }
  return nullptr;
}

/// Whether a built-in file has the key; a file of the user's (null) may have it.
bool may_have_aliases(const EmbeddedFile* file) {
  return file == nullptr || file->text.find("\naliases:") != std::string_view::npos;
}

std::string file_in(const std::string& directory, std::string_view folder, std::string_view name) {
  return (fs::path(directory) / folder / fmt::format("{}.yaml", name)).string();
}

/// Each file is parsed once per process, because sweeps run thousands of commands: the texts are constants of the
/// binary and documents immutable.
Result<YamlDocument> embedded_document(const EmbeddedFile& file) {
  static std::mutex mutex;                                    // guards `parsed`
  static std::map<const EmbeddedFile*, YamlDocument> parsed;  // only looked up
  {
    const std::lock_guard lock(mutex);
    if (const auto known = parsed.find(&file); known != parsed.end()) return known->second;
  }
  BUSBAR_ASSIGN(YamlDocument document,
                YamlDocument::parse(std::string(file.text), fmt::format("catalog/{}.yaml", file.name)));
  const std::lock_guard lock(mutex);
  return parsed.emplace(&file, std::move(document)).first->second;
}

}  // namespace

Catalog::Catalog(std::string directory) {
  if (!directory.empty()) directories_.push_back({std::move(directory), "--catalog"});
  if (const char* from_environment = std::getenv("BUSBAR_CATALOG"); from_environment && *from_environment) {
    directories_.push_back({from_environment, "$BUSBAR_CATALOG"});
  }
}

Status Catalog::check() const {
  for (const auto& [path, named_by] : directories_) {
    const Where where{"", 0, 0, named_by};
    std::error_code failed;
    if (!fs::is_directory(path, failed)) return invalid(fmt::format("'{}' is not a folder", path), where);
    const auto built_in = embedded_catalog();
    const bool any = std::any_of(built_in.begin(), built_in.end(), [&, &path = path](const EmbeddedFile& file) {
      return fs::is_directory(fs::path(path) / file.name.substr(0, file.name.find('/')), failed);
    });
    if (!any) return invalid(fmt::format("'{}' holds no folder of product data, such as nodes or gpus", path), where);
  }
  return {};
}

bool Catalog::has(std::string_view folder, std::string_view name) const {
  if (!is_name(name)) return false;
  std::error_code ignored;
  for (const auto& [directory, named_by] : directories_) {
    if (fs::exists(file_in(directory, folder, name), ignored)) return true;
  }
  return find_embedded(folder, name) != nullptr;
}

Result<YamlDocument> Catalog::load(std::string_view folder, std::string_view name) const {
  if (is_name(name)) {
    std::error_code ignored;
    for (const auto& [directory, named_by] : directories_) {
      const std::string path = file_in(directory, folder, name);
      if (fs::exists(path, ignored)) return YamlDocument::load(path);
    }
    if (const EmbeddedFile* file = find_embedded(folder, name)) {
      return embedded_document(*file);
    }
  }
  const std::vector<std::string> known = names(folder);
  constexpr std::size_t kMostListed = 40;
  const std::string all = known.size() > kMostListed ? fmt::format("'busbar catalog {}' lists them", folder)
                                                     : "there are: " + comma_list(known);
  std::vector<std::string> close = known;
  for (const CatalogAlias& a : aliases(folder)) close.push_back(a.alias);
  const std::string hint = known.empty() ? "name a file" : suggestion(name, close, all);
  return Error{ErrorCode::kNotFound, fmt::format("the catalogue has no '{}' among its {}; {}", name, folder, hint), {}};
}

std::vector<std::string> Catalog::names(std::string_view folder) const {
  std::vector<std::string> out;
  for (const EmbeddedFile& file : embedded_catalog()) {
    if (file.name.size() > folder.size() && file.name.starts_with(folder) && file.name[folder.size()] == '/') {
      out.emplace_back(file.name.substr(folder.size() + 1));
    }
  }
  for (const auto& [directory, named_by] : directories_) {
    std::error_code failed;
    for (fs::directory_iterator it(fs::path(directory) / folder, failed), end; !failed && it != end;
         it.increment(failed)) {
      if (it->path().extension() == ".yaml") out.push_back(it->path().stem().string());
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<CatalogAlias> Catalog::aliases(std::string_view folder) const {
  std::vector<CatalogAlias> out;
  for (const std::string& entry : names(folder)) {
    if (!may_have_aliases(directories_.empty() ? find_embedded(folder, entry) : nullptr)) continue;
    const Result<YamlDocument> document = load(folder, entry);
    if (!document.ok()) continue;  // whoever names the entry is told why
    const auto key = document->root().find("aliases");
    const auto list = key ? key->find("names") : std::nullopt;
    for (std::size_t i = 0; list && i < list->size(); ++i) out.push_back({lower(list->item(i).scalar()), entry});
  }
  std::sort(out.begin(), out.end(), [](const CatalogAlias& a, const CatalogAlias& b) { return a.alias < b.alias; });
  return out;
}

std::string Catalog::entry_of(std::string_view folder, std::string_view name) const {
  if (has(folder, name)) return std::string(name);
  for (CatalogAlias& a : aliases(folder))
    if (a.alias == lower(name)) return std::move(a.entry);
  return std::string(name);
}

std::vector<std::string> Catalog::folders() const {
  std::vector<std::string> out;
  for (const EmbeddedFile& file : embedded_catalog()) out.emplace_back(file.name.substr(0, file.name.find('/')));
  for (const auto& [directory, named_by] : directories_) {
    std::error_code failed;
    for (fs::directory_iterator it(directory, failed), end; !failed && it != end; it.increment(failed)) {
      std::error_code ignored;
      if (it->is_directory(ignored)) out.push_back(it->path().filename().string());
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace busbar::spec
