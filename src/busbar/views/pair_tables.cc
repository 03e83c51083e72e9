#include "busbar/views/pair_tables.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/report/plain.h"
#include "busbar/report/style.h"

namespace busbar::views {
namespace {

struct SquareHead {
  std::string title, corner;
  std::size_t left, wide;  ///< columns of the names of rows, and of a cell
};

/// A row and a column per name. Columns beyond `columns` of text follow in blocks of their own.
template <typename Cell>
std::string square_text(const SquareHead& head, const std::vector<std::string>& names, std::size_t columns, Cell cell) {
  const std::size_t n = names.size(), most = columns > head.left + head.wide ? (columns - head.left) / head.wide : 1;
  const std::size_t blocks = (n + most - 1) / most, each = blocks == 0 ? 1 : (n + blocks - 1) / blocks;
  std::string out;
  for (const std::string& line : report::wrap_words(head.title, columns)) out += "\n" + line;
  for (std::size_t first = 0; first < n; first += each) {
    const std::size_t last = std::min(n, first + each);
    out += fmt::format("{}\n{:>{}}", first > 0 ? "\n" : "", head.corner, head.left);
    for (std::size_t k = first; k < last; ++k) out += fmt::format("{:>{}}", names[k], head.wide);
    for (std::size_t i = 0; i < n; ++i) {
      out += fmt::format("\n{:>{}}", names[i], head.left);
      for (std::size_t k = first; k < last; ++k) out += fmt::format("{:>{}}", i == k ? "-" : cell(i, k), head.wide);
    }
  }
  return out + "\n";
}

}  // namespace

std::string hop_text(const questions::HopCounts& h, std::size_t columns) {
  std::size_t wide = 4;
  for (const std::string& name : h.names) wide = std::max(wide, name.size() + 1);
  return square_text({"Links crossed between devices of the node", "", wide + 1, wide}, h.names, columns,
                     [&](std::size_t i, std::size_t k) { return h.hops[i][k] ? std::to_string(*h.hops[i][k]) : "-"; });
}

std::string pair_text(const std::string& title, const questions::PairFigures& f,
                      const std::vector<std::vector<double>>& values, std::size_t columns) {
  return square_text({title, "from\\to", 8, 8}, f.names, columns,
                     [&](std::size_t i, std::size_t k) { return fmt::format("{:.2f}", values[i][k]); });
}

report::Drawing draw_pairs(const std::string& title, const questions::PairFigures& f,
                           const std::vector<std::vector<double>>& values) {
  constexpr std::size_t kMostWithFigures = 24;
  constexpr double kLeft = 64, kTop = 30, kWidth = 960, kMostSquare = 64, kLetter = 12;
  const std::size_t n = values.size();
  const double side = std::min(kMostSquare, (kWidth - kLeft) / static_cast<double>(std::max<std::size_t>(1, n)));
  const bool named = n <= kMostWithFigures && n > 1;
  double most = 0;
  for (const auto& row : values)
    for (const double v : row) most = std::max(most, v);
  if (n < 2 || !(most > 0)) return {};
  report::Drawing d;
  d.title = title;
  d.description = "A square per sender (row) and receiver (column); the largest has the strongest colour.";
  d.width = kLeft + side * static_cast<double>(n) + 8;
  d.height = kTop + side * static_cast<double>(n) + 4;
  const auto words = [&](double x, double y, std::string text, int colour) {
    report::Shape s{report::Shape::Kind::kText, x, y};
    s.text = std::move(text);
    s.size = kLetter;
    s.colour = colour;
    d.shapes.push_back(std::move(s));
  };
  for (std::size_t i = 0; i < n; ++i) {
    const double at = side * (static_cast<double>(i) + 0.5);
    if (named) words(kLeft + at, kTop / 2, f.names[i], report::colour::kMuted);
    if (named) words(kLeft / 2, kTop + at, f.names[i], report::colour::kMuted);
    for (std::size_t k = 0; k < n; ++k) {
      if (i == k) continue;
      const double x = kLeft + side * static_cast<double>(k), y = kTop + side * static_cast<double>(i);
      report::Shape box{report::Shape::Kind::kRect, x + 1, y + 1, side - 2, side - 2};
      box.heat = values[i][k] / most;
      box.text = fmt::format("{} to {}: {:.4g}", f.names[i], f.names[k], values[i][k]);
      box.opacity = named ? 0.45 : 1;  // letters on it stay legible
      d.shapes.push_back(std::move(box));
      if (named) words(x + side / 2, y + side / 2, fmt::format("{:.3g}", values[i][k]), report::colour::kInk);
    }
  }
  return d;
}

}  // namespace busbar::views
