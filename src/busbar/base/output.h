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

}  // namespace busbar
