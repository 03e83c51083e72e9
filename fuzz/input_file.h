// For readers that need a file: one temporary file with the current input.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "busbar/base/check.h"

namespace busbar::fuzz {

class InputFile {
 public:
  InputFile() : path_((std::filesystem::temp_directory_path() / "busbar-fuzz-XXXXXX.yaml").string()) {
    constexpr int kSuffix = 5;
    fd_ = mkstemps(path_.data(), kSuffix);
    BUSBAR_CHECK(fd_ >= 0) << "cannot make " << path_;
  }
  ~InputFile() {
    close(fd_);
    unlink(path_.c_str());
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  void write(const std::uint8_t* data, std::size_t size) {
    // Never truncated to nothing: some file systems then flush to disk, thousands of times.
    const bool written = pwrite(fd_, data, size, 0) == static_cast<ssize_t>(size) && ftruncate(fd_, size) == 0;
    BUSBAR_CHECK(written) << "cannot write " << path_;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace busbar::fuzz
