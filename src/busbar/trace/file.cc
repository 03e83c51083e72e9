#include "busbar/trace/file.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace busbar {

Status write_file(const std::string& bytes, const std::string& path) {
  const auto failed = [&](const char* what) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot {}: {}; name a file in a folder that can be written", what, std::strerror(errno)),
                 Where{path, 0, 0, ""}};
  };
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return failed("open");
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const int code = errno;
  const bool closed = std::fclose(file) == 0;
  if (!written) errno = code;
  return written && closed ? Status() : Status(failed("write"));
}

}  // namespace busbar
