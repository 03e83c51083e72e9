#include "busbar/formats/copy_matrix.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "busbar/formats/lines.h"

namespace busbar::formats {
namespace {

using MatrixWords = std::vector<std::string>;

MatrixWords matrix_words(std::string_view line) {
  std::istringstream in{std::string(line)};
  return {std::istream_iterator<std::string>(in), {}};
}

/// The number of columns of "D\D 0 1 2 3", whose first word goes to `corner`; 0: another line.
std::size_t matrix_columns(MatrixWords words, std::string& corner) {
  corner.clear();
  if (!words.empty() && words.front() != "0") {
    corner = words.front();
    words.erase(words.begin());
  }
  std::size_t n = 0;
  while (n < words.size() && words[n] == std::to_string(n)) ++n;
  const bool known = corner.empty() || corner == "D\\D" || corner == "GPU" || corner == "CPU";
  return known && n >= 2 && n == words.size() ? n : 0;
}

/// 0 for N/A and for what is no number.
double matrix_cell(const std::string& word) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  return end != word.c_str() && std::isfinite(value) && value > 0 ? value : 0;
}

/// The name in "Device: 0, NVIDIA H100 80GB HBM3, pciBusID: 19, ..."; empty: another line.
std::string device_product(std::string_view line) {
  constexpr std::string_view kDevice = "Device: ";
  const std::size_t at = line.find(kDevice), comma = line.find(", "), end = line.find(", pciBusID");
  if (at == line.npos || comma == line.npos || end == line.npos || end <= comma) return {};
  return std::string(line.substr(comma + 2, end - comma - 2));
}

}  // namespace

Result<CopyTest> read_copy_matrices(std::string_view text, const std::string& name) {
  CopyTest out;
  LineSource lines = LineSource::of_text(text, name);
  lines.skip_prefixes();
  std::string title, corner;
  std::size_t left = 0, columns = 0;  // rows of the open matrix, and its columns
  for (std::string_view line; lines.next(line);) {
    const MatrixWords words = matrix_words(line);
    if (left > 0) {
      CopyMatrix& m = out.matrices.back();
      const std::size_t row = columns - left;
      if (words.size() != columns + 1 || words.front() != std::to_string(row))
        return invalid(
            fmt::format("row {} of the matrix needs its number and {} figures; give the complete output", row, columns),
            lines.where());
      std::vector<double>& cells = m.cells.emplace_back();
      for (std::size_t c = 1; c < words.size(); ++c) cells.push_back(matrix_cell(words[c]));
      m.last_line = lines.number();
      --left;
    } else if (const std::size_t n = matrix_columns(words, corner); n > 0) {
      out.matrices.push_back({title, corner, lines.number(), lines.number(), {}});
      left = columns = n;
    } else if (!words.empty()) {
      title = trimmed(line);
      if (out.product.empty()) out.product = device_product(line);
    }
  }
  if (left > 0)
    return invalid(
        fmt::format("the matrix ends after {} of {} rows; give the complete output", columns - left, columns),
        lines.where());
  return out;
}

bool looks_like_copy_test(std::string_view text) {
  return text.find("P2P=Enabled ") != text.npos || text.find("P2P=Disabled ") != text.npos;
}

}  // namespace busbar::formats
