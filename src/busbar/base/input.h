// An input that a user names: a file, a pipe, a FIFO, standard input ("-") or a file of an archive
// ("logs.tar:node1.log"). All files are read through this class. Data that gzip, bzip2, xz or zstd packed is unpacked
// while it is read, and UTF-16 with a byte order mark (PowerShell, Notepad) becomes UTF-8.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/archive.h"
#include "busbar/base/result.h"

namespace busbar {

class PipedBytes;
struct EmbeddedFile;

/// Limit of the bytes kept of a pipe, and of the result of Input::whole().
inline constexpr std::uint64_t kMostInput = std::uint64_t{1} << 30;

class Input {
 public:
  /// An embedded input of this name is read if there is no such file; RunFiles keeps that it was. An archive of one
  /// file is that file. Errors: kNotFound if there is neither; kIo with the system's reason, also for a folder;
  /// kInvalid for an archive of several files, or of none.
  static Result<Input> open(const std::string& name);

  const std::string& name() const { return name_; }
  const std::string& archive() const { return archive_; }  ///< that holds the file; empty: none
  /// A stream from the first byte, at every call; for a file in constant space.
  std::unique_ptr<std::istream> stream() const;
  /// All bytes. kUnsupported above `most`, without reading the rest.
  Result<std::string> whole(std::uint64_t most = kMostInput) const;
  /// Why a stream ended before its input did; Ok if it did not.
  Status status() const;

 private:
  friend class InputFiles;
  static Input open_embedded(const EmbeddedFile& file);
  static Result<Input> open_bytes(const std::string& name);
  static Result<Input> only_file(const Input& archive);
  static Result<Input> file_of(const Input& archive, const std::string& file);
  static Input from_archive(const Input& archive, ArchiveFiles& files);
  std::string head() const;
  void recognise();

  std::string name_, archive_;
  std::shared_ptr<PipedBytes> pipe_;        ///< null: a file
  const EmbeddedFile* embedded_ = nullptr;  ///< null: a file or a pipe
  std::shared_ptr<UnpackFailure> failure_;  ///< of unpacking; shared with the streams
  bool compressed_ = false, utf16_ = false, holds_files_ = false;
};

/// The files that a name stands for, one after the other: the file itself, those below a folder by name, those of an
/// archive. Archives in a folder count as their files.
class InputFiles {
 public:
  /// Errors: kNotFound for a folder without files; those of Input::open().
  static Result<InputFiles> open(const std::string& name);
  bool several() const { return folder_ || archive_.has_value(); }  ///< more than one is possible
  /// Nothing at the end. An error of one file, with its name, does not hide the next, but for a broken archive's.
  Result<std::optional<Input>> next();

 private:
  Result<std::optional<Input>> next_of_archive();

  std::vector<std::string> names_;  ///< still to open, the last first
  bool folder_ = false;
  std::optional<Input> holder_;  ///< of `archive_`
  std::optional<ArchiveFiles> archive_;
};

/// Whether there is an input of this name, readable or to be refused with a reason. A folder counts only if the name
/// contains a slash, so that it hides no preset; a file of an archive counts.
bool names_input(const std::string& name);

/// Input::open() and whole() for text, without its byte order mark. kInvalid, before the rest is read, if the first
/// bytes contain a zero and so are not text.
Result<std::string> read_text(const std::string& name, std::uint64_t most = kMostInput);
Result<std::string> read_text(const Input& input, std::uint64_t most = kMostInput);

}  // namespace busbar
