// Files of /sys and /proc of this host, or of a copy of them.
#pragma once

#include <string>
#include <vector>

namespace busbar::host {

/// Reads and never writes. What is absent or must not be read by this user is empty.
class HostFiles {
 public:
  /// `root`: "/" for this host, otherwise a folder with the folders sys and proc of another one.
  explicit HostFiles(std::string root = "/");

  bool is_this_host() const { return root_.empty(); }
  bool exists(const std::string& path) const;
  /// At most 64 KiB.
  std::string text(const std::string& path) const;
  /// The first line without blanks at its ends.
  std::string line(const std::string& path) const;
  /// The names in a folder, in alphabetical order; numbers within names count as numbers.
  std::vector<std::string> names(const std::string& folder) const;
  /// Where a link leads, below the root: "/sys/devices/pci0000:16/0000:16:01.0".
  std::string target(const std::string& path) const;

 private:
  std::string root_;  ///< without the slash at the end
};

}  // namespace busbar::host
