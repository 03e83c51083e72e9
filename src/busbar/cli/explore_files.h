// Cluster and model files that a user gave to the page of `busbar explore`.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "busbar/base/result.h"

namespace busbar::cli {

/// Files live in a folder that only this user can read, and end with this object. At most kMost of them: one more
/// replaces the oldest. Safe for several threads.
class ExploreFiles {
 public:
  static constexpr std::size_t kMost = 16;
  /// Of a field of the page.
  enum class Kind { kCluster, kModel };

  ExploreFiles() = default;
  ~ExploreFiles();
  ExploreFiles(const ExploreFiles&) = delete;
  ExploreFiles& operator=(const ExploreFiles&) = delete;

  /// Keeps `text` and returns the name to choose it by: `name` in small letters, other signs than [a-z0-9._-] as '-'.
  /// The same name again replaces the file. Errors: kIo; those of the reader, which then keeps nothing.
  Result<std::string> add(Kind kind, const std::string& name, const std::string& text);
  /// Empty: there is none of this name.
  std::string path_of(Kind kind, const std::string& name) const;
  /// `text` without the folder of the files, for messages and command lines.
  std::string without_folder(std::string text) const;

 private:
  Status make_folder();

  mutable std::mutex mutex_;                         // guards the members below
  std::filesystem::path folder_;                     ///< empty: there was no file yet
  std::vector<std::pair<Kind, std::string>> files_;  ///< the oldest first
};

}  // namespace busbar::cli
