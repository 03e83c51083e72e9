// Rows of `nvidia-smi topo -m` as lines that the tables of catalog/evidence read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace busbar::doctor {

/// Follows the lines of a text. A row counts only below the header that names its columns; any other line that is not
/// empty ends the matrix.
class NicDistances {
 public:
  /// "matrix part GPU3 has its nearest NIC at distance SYS, its nearest GPU at NV"; empty: not the row of a GPU.
  std::string said_by(std::string_view line);

 private:
  std::string_view nearest(const std::vector<std::string>& cells, bool nic) const;

  std::vector<bool> nic_;  ///< per column of a device; empty: outside a matrix
};

}  // namespace busbar::doctor
