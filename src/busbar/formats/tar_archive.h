// Archives of tar: POSIX ustar, with long names as GNU and pax write them.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <string_view>

#include "busbar/base/result.h"

namespace busbar {

/// Whether the first 512 bytes are the header of a file in an archive.
bool looks_like_tar(std::string_view head);

/// The regular files of an archive, one after the other, in constant space. Folders, links and devices are passed over.
/// Source: POSIX.1-2017, pax, section "ustar Interchange Format"; GNU tar 1.34 (entries of type L).
class TarReader {
 public:
  /// `in` must outlive the reader. `name`: of the archive, for messages.
  TarReader(std::istream& in, std::string name) : in_(in), archive_(std::move(name)) {}

  /// Goes to the next file; false at the end. Error kInvalid where the archive is broken or ends too early.
  Result<bool> next();
  const std::string& name() const { return name_; }  ///< of the file, within the archive
  std::uint64_t size() const { return size_; }       ///< bytes
  /// The file's bytes, once. The stream must not be used after the next call of next().
  std::unique_ptr<std::istream> content();

 private:
  friend class TarContent;
  Status skip_rest();
  Result<std::string> short_content();
  Error broken(std::string what) const;

  std::istream& in_;
  std::string archive_, name_;
  std::uint64_t size_ = 0, left_ = 0, padding_ = 0;
};

/// Adds a file to an archive. Equal input gives equal bytes: no time, owner or rights of this host are written.
/// Precondition: `name` has 1 to 100 bytes.
void append_tar(std::string& archive, std::string_view name, std::string_view text);
/// Ends the archive.
void finish_tar(std::string& archive);

}  // namespace busbar
