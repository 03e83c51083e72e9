// All files and all of standard output are written through these functions.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/result.h"

namespace busbar {

/// Replaces the contents of the file `name` by `bytes`, completely or not at all: writes to another name in the same
/// folder and renames that file. A pipe or a device gets the bytes directly. Errors, with the file's name: kInvalid if
/// the file is an input of this run, was already written by it (run_files.h), or is the target of standard output; kIo
/// with the system's reason otherwise, for example a full disk.
Status write_file(const std::string& name, std::string_view bytes);

/// Writes to standard output without a buffer. A reader that has gone is no error: the rest is dropped.
/// Errors: kIo with the system's reason, at the place "stdout".
Status write_stdout(std::string_view bytes);

/// While one exists, what its thread writes to standard output goes into `out`, and messages for standard error into
/// `err`: a command runs as a function, and its files and signals are its own (run_files.h, long_run.h). At most one
/// per thread exists.
class CapturedOutput {
 public:
  CapturedOutput();
  ~CapturedOutput();
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;
  static CapturedOutput* current();  ///< of this thread; null: none exists

  std::string out, err;
};

}  // namespace busbar
