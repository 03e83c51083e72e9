// All writing of files and of standard output ends here.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/result.h"

namespace busbar {

/// Makes `bytes` the contents of the file `name`, wholly or not at all: they are written under another name in the same
/// folder, which then is renamed. A pipe or a device gets the bytes directly.
/// Errors, with the file: it is an input of this run or was written in it before (run_files.h), or is where standard
/// output goes (kInvalid); kIo with the system's reason for all else, such as a full disk.
Status write_file(const std::string& name, std::string_view bytes);

/// Writes to standard output, without a buffer. A reader that has left is no error: then the rest is dropped.
/// Errors: kIo with the system's reason, at the place "stdout".
Status write_stdout(std::string_view bytes);

}  // namespace busbar
