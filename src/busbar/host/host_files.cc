#include "busbar/host/host_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "busbar/formats/lines.h"

namespace busbar::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRead = 64 << 10;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "mlx5_2" before "mlx5_10".
bool comes_before(const std::string& a, const std::string& b) {
  std::size_t i = 0, k = 0;
  while (i < a.size() && k < b.size()) {
    if (is_digit(a[i]) && is_digit(b[k])) {
      const std::size_t from_a = std::min(a.find_first_not_of('0', i), a.size());
      const std::size_t from_b = std::min(b.find_first_not_of('0', k), b.size());
      for (i = from_a; i < a.size() && is_digit(a[i]);) ++i;
      for (k = from_b; k < b.size() && is_digit(b[k]);) ++k;
      if (i - from_a != k - from_b) return i - from_a < k - from_b;
      if (const int order = a.compare(from_a, i - from_a, b, from_b, k - from_b); order != 0) return order < 0;
    } else if (a[i] != b[k]) {
      return a[i] < b[k];
    } else {
      ++i, ++k;
    }
  }
  return a.size() - i != b.size() - k ? a.size() - i < b.size() - k : a < b;
}

}  // namespace

HostFiles::HostFiles(std::string root) : root_(std::move(root)) {
  while (root_.ends_with('/')) root_.pop_back();
}

bool HostFiles::exists(const std::string& path) const {
  std::error_code failed;
  return fs::exists(root_ + path, failed);
}

std::string HostFiles::text(const std::string& path) const {
  std::error_code failed;
  if (!fs::is_regular_file(root_ + path, failed)) return {};
  std::ifstream in(root_ + path, std::ios::binary);
  std::string out(kMostRead, '\0');
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<std::size_t>(in.gcount()));
  return out;
}

std::string HostFiles::line(const std::string& path) const {
  const std::string all = text(path);
  return std::string(formats::trimmed(std::string_view(all).substr(0, all.find('\n'))));
}

std::vector<std::string> HostFiles::names(const std::string& folder) const {
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::directory_iterator it(root_ + folder, failed), end; !failed && it != end; it.increment(failed))
    out.push_back(it->path().filename().string());
  std::sort(out.begin(), out.end(), comes_before);
  return out;
}

std::string HostFiles::target(const std::string& path) const {
  std::error_code failed;
  const fs::path found = fs::canonical(root_ + path, failed);
  if (failed) return {};
  const fs::path top = root_.empty() ? fs::path() : fs::canonical(root_, failed);
  const std::string whole = found.string(), base = failed ? std::string() : top.string();
  return whole.starts_with(base) ? whole.substr(base.size()) : std::string();
}

}  // namespace busbar::host
