// What a user names as an input: a file, a pipe, a FIFO or standard input ("-"). All reading of files begins here.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>

#include "busbar/base/result.h"

namespace busbar {

class PipedBytes;

/// The most bytes that are kept of a pipe, and the most that Input::whole() gives.
inline constexpr std::uint64_t kMostInput = std::uint64_t{1} << 30;

class Input {
 public:
  /// Errors: kNotFound where there is no such file, kIo with the system's reason, also for a folder.
  static Result<Input> open(const std::string& name);

  const std::string& name() const { return name_; }
  /// From the first byte, each time; of a file in constant space.
  std::unique_ptr<std::istream> stream() const;
  /// All bytes. kUnsupported above `most`; no more than that is read.
  Result<std::string> whole(std::uint64_t most = kMostInput) const;
  /// Why a stream ended before its input did; Ok where it did not.
  Status status() const;

 private:
  std::string name_;
  std::shared_ptr<PipedBytes> pipe_;  ///< null: a file
};

/// Whether something can be read under this name, or is there and shall be refused with the reason. A folder counts
/// only where the name holds a slash, so that it hides no preset.
bool names_input(const std::string& name);

/// Input::open() and whole() for text: without its byte order mark. kInvalid, before more is read, where the first
/// bytes hold a zero and so are no text.
Result<std::string> read_text(const std::string& name, std::uint64_t most = kMostInput);

}  // namespace busbar
