// What gzip, bzip2, xz and zstd compress, and what tar and zip hold, unpacked by libarchive while it is read.
//
//   auto failure = std::make_shared<UnpackFailure>();
//   const auto text = unpack(std::make_unique<std::ifstream>("nccl.log.gz", std::ios::binary), failure);
//
// Names within archives are labels: no file is ever written. Only regular files count; links, folders and devices are
// passed over. Space is constant, and no more than a limit of bytes is unpacked.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "busbar/base/result.h"

namespace busbar {

inline constexpr std::uint64_t kMostUnpacked = std::uint64_t{1} << 30;

/// Why unpacking stopped. A reader that sees a stream end early finds the cause here.
struct UnpackFailure {
  std::string message;  ///< empty: no failure
};
/// Ok without a failure; otherwise the failure with the file's name.
Status status_of(const UnpackFailure& failure, const std::string& name);

/// Whether the first 512 bytes are those of compressed data, or of an archive.
bool looks_compressed(std::string_view head);
bool looks_like_archive(std::string_view head);

/// The stream ends at the end of the data, where the data is broken, or after `most` bytes; `failure` gives the reason
/// if it is not the end of the data. Several members of gzip in sequence are one text.
/// Limits: of data that is cut, the last 64 KiB that could be unpacked are missing; libarchive compares no checksum of
/// gzip.
std::unique_ptr<std::istream> unpack(std::unique_ptr<std::istream> packed, std::shared_ptr<UnpackFailure> failure,
                                     std::uint64_t most = kMostUnpacked);

/// The regular files of an archive, one after the other.
class ArchiveFiles {
 public:
  static constexpr std::size_t kMostFiles = 100'000;
  /// `most`: bytes of all files together.
  explicit ArchiveFiles(std::unique_ptr<std::istream> archive, std::uint64_t most = kMostUnpacked);
  ~ArchiveFiles();
  ArchiveFiles(ArchiveFiles&&) noexcept;

  /// Goes to the next file; false at the end. An error, without a place, where the archive is broken or ends too early.
  Result<bool> next();
  const std::string& name() const { return name_; }  ///< of the file, within the archive
  /// The file's bytes, once. The stream ends at the next call of next().
  std::unique_ptr<std::istream> content(std::shared_ptr<UnpackFailure> failure);

 private:
  std::shared_ptr<class OpenArchive> archive_;
  std::string name_;
  std::size_t files_ = 0;
};

/// An archive of tar with these files (name, text), packed by gzip if asked. Equal input gives equal bytes: no time,
/// owner or rights of this host are written.
std::string write_archive(const std::vector<std::pair<std::string, std::string>>& files, bool gzip);

}  // namespace busbar
