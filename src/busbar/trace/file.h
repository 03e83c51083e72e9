// Bytes to a file.
#pragma once

#include <string>

#include "busbar/base/result.h"

namespace busbar {

/// Replaces the contents of `path`. kIo with path, the system's reason and what to do where that fails.
Status write_file(const std::string& bytes, const std::string& path);

}  // namespace busbar
