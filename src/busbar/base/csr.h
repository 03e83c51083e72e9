// Compressed rows: for each of n rows a run of values, all in one array.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace busbar {

template <typename T>
struct Csr {
  std::vector<std::uint32_t> begin{0};  ///< rows + 1 offsets into `values`
  std::vector<T> values;

  std::uint32_t rows() const { return static_cast<std::uint32_t>(begin.size()) - 1; }
  std::span<const T> row(std::uint32_t r) const {
    return std::span<const T>(values).subspan(begin[r], begin[r + 1] - begin[r]);
  }
  void close_row() { begin.push_back(static_cast<std::uint32_t>(values.size())); }
  void clear() {
    begin.assign(1, 0);
    values.clear();
  }
};

}  // namespace busbar
