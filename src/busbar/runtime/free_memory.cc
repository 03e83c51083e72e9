#include "busbar/runtime/free_memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace busbar::runtime {
namespace {

/// The number in a file of control groups; empty for "max" and for files that are not there.
std::optional<std::uint64_t> number_in(const char* path) {
  std::uint64_t value = 0;
  std::ifstream file(path);
  return file >> value ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> available_bytes(const std::string& meminfo) {
  std::istringstream text(meminfo);
  std::string line;
  while (std::getline(text, line)) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t kib = 0;
    if (words >> key >> kib && key == "MemAvailable:") return kib * 1024;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> free_memory() {
  std::ifstream file("/proc/meminfo");
  const std::string meminfo{std::istreambuf_iterator<char>(file), {}};
  std::optional<std::uint64_t> out = available_bytes(meminfo);
  // Version 2 of control groups, as a container sees its own (kernel documentation, admin-guide/cgroup-v2).
  const auto most = number_in("/sys/fs/cgroup/memory.max"), used = number_in("/sys/fs/cgroup/memory.current");
  if (most && used) {
    const std::uint64_t left = *most > *used ? *most - *used : 0;
    out = out ? std::min(*out, left) : left;
  }
  return out;
}

}  // namespace busbar::runtime
