// An input that a user names: a file, a pipe, a FIFO or standard input ("-"). All files are read through this class.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>

#include "busbar/base/result.h"

namespace busbar {

class PipedBytes;
struct EmbeddedFile;

/// Limit of the bytes kept of a pipe, and of the result of Input::whole().
inline constexpr std::uint64_t kMostInput = std::uint64_t{1} << 30;

class Input {
 public:
  /// An embedded input of this name is read if there is no such file; RunFiles keeps that it was.
  /// Errors: kNotFound if there is neither; kIo with the system's reason, also for a folder.
  static Result<Input> open(const std::string& name);

  const std::string& name() const { return name_; }
  /// A stream from the first byte, at every call; for a file in constant space.
  std::unique_ptr<std::istream> stream() const;
  /// All bytes. kUnsupported above `most`, without reading the rest.
  Result<std::string> whole(std::uint64_t most = kMostInput) const;
  /// Why a stream ended before its input did; Ok if it did not.
  Status status() const;

 private:
  static Input open_embedded(const EmbeddedFile& file);

  std::string name_;
  std::shared_ptr<PipedBytes> pipe_;        ///< null: a file
  const EmbeddedFile* embedded_ = nullptr;  ///< null: a file or a pipe
};

/// Whether there is an input of this name, readable or to be refused with a reason. A folder counts only if the name
/// contains a slash, so that it hides no preset.
bool names_input(const std::string& name);

/// Input::open() and whole() for text, without its byte order mark. kInvalid, before the rest is read, if the first
/// bytes contain a zero and so are not text.
Result<std::string> read_text(const std::string& name, std::uint64_t most = kMostInput);

}  // namespace busbar
