#include "busbar/base/result.h"

namespace busbar {

std::string Where::prefix() const {
  std::string out;
  if (!file.empty()) {
    out += file + ":";
    if (line > 0) out += std::to_string(line) + ":";
    if (line > 0 && column > 0) out += std::to_string(column) + ":";
    out += " ";
  }
  if (!path.empty()) out += path + ": ";
  return out;
}

}  // namespace busbar
