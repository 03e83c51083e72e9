// Compressed rows of values that come in another order.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/csr.h"

namespace busbar {

/// `each` calls its argument with a row and a value for every value. It runs twice, in the same order both times. The
/// values of a row keep this order. Precondition: rows are below `rows`. Cost: linear.
template <typename T, typename Each>
Csr<T> grouped(std::size_t rows, Each each) {
  Csr<T> out;
  out.begin.assign(rows + 1, 0);
  each([&](std::size_t row, const T&) { ++out.begin[row + 1]; });
  for (std::size_t r = 0; r < rows; ++r) out.begin[r + 1] += out.begin[r];
  out.values.resize(out.begin.back());
  std::vector<std::uint32_t> at(out.begin.begin(), out.begin.end() - 1);
  each([&](std::size_t row, const T& value) { out.values[at[row]++] = value; });
  return out;
}

/// Row b lists every row of `rows` that lists b.
inline Csr<std::uint32_t> inverted(const Csr<std::uint32_t>& rows) {
  return grouped<std::uint32_t>(rows.rows(), [&](auto&& add) {
    for (std::uint32_t r = 0; r < rows.rows(); ++r)
      for (const std::uint32_t value : rows.row(r)) add(value, r);
  });
}

}  // namespace busbar
