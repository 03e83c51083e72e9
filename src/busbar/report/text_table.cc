#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "busbar/base/text.h"
#include "busbar/report/internal/text_parts.h"
#include "busbar/report/plain.h"

namespace busbar::report {
namespace {

constexpr std::size_t kColumnGap = 2;         // spaces between columns
constexpr std::size_t kNarrowestColumn = 12;  // least width of a left-aligned column

struct Grid {
  std::vector<std::string> heads;
  std::vector<bool> right;
  std::vector<std::vector<std::string>> cells;
  std::vector<std::size_t> widths;
  std::size_t columns() const { return heads.size(); }
  std::size_t total() const {
    return std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + kColumnGap * (columns() - 1);
  }
};

Grid make_grid(const Table& table, const TextStyle& style) {
  Grid g;
  std::size_t columns = table.columns.size();
  for (const auto& row : table.rows) columns = std::max(columns, row.size());
  for (std::size_t c = 0; c < columns; ++c) {
    const bool named = c < table.columns.size();
    g.heads.push_back(named ? style.clean(table.columns[c].title) : "");
    g.right.push_back(!named || table.columns[c].align == Align::kRight);
  }
  for (const auto& row : table.rows) {
    auto& cells = g.cells.emplace_back();
    for (const std::string& cell : row) cells.push_back(style.clean(cell));
    cells.resize(columns);
  }
  return g;
}

std::size_t longest_word(const std::string& text) {
  std::size_t best = 0;
  for (const std::string_view word : split_at(text, ' ')) best = std::max(best, display_width(word));
  return best;
}

/// Wraps headings: gives the rest of `width`, cell by cell, to the column whose heading has most lines.
void widen_headings(Grid& g, std::size_t width) {
  for (std::size_t left = width - g.total(); left > 0; --left) {
    std::size_t tallest = 0, most = 1;
    for (std::size_t c = 0; c < g.columns(); ++c) {
      const std::size_t lines = wrap_words(g.heads[c], g.widths[c]).size();
      if (lines > most) {
        most = lines;
        tallest = c;
      }
    }
    if (most == 1) return;
    ++g.widths[tallest];
  }
}

/// Sets the widths. False: nothing makes it fit.
bool fit(Grid& g, std::size_t width) {
  std::vector<std::size_t> body(g.columns()), whole(g.columns());
  for (std::size_t c = 0; c < g.columns(); ++c) {
    for (const auto& row : g.cells) body[c] = std::max(body[c], display_width(row[c]));
    whole[c] = std::max(body[c], display_width(g.heads[c]));
  }
  g.widths = whole;
  if (g.total() <= width) return true;
  for (std::size_t c = 0; c < g.columns(); ++c) g.widths[c] = std::max(body[c], longest_word(g.heads[c]));
  if (g.total() <= width) {
    widen_headings(g, width);
    return true;
  }
  while (g.total() > width) {  // narrow the widest left-aligned column
    std::size_t widest = g.columns();
    for (std::size_t c = 0; c < g.columns(); ++c) {
      const bool can = !g.right[c] && g.widths[c] > kNarrowestColumn;
      if (can && (widest == g.columns() || g.widths[c] > g.widths[widest])) widest = c;
    }
    if (widest == g.columns()) return false;
    --g.widths[widest];
  }
  return true;
}

std::size_t widest_cell(const Grid& g, std::size_t column) {
  std::size_t widest = 0;
  for (const auto& row : g.cells) widest = std::max(widest, display_width(row[column]));
  return widest;
}

/// Replaces headings that widen their column by letters. Returns the key: "A: layout.pp=4; B: ...".
std::string use_letters(Grid& g) {
  std::string key;
  char letter = 'A';
  for (std::size_t c = 0; c < g.columns() && letter <= 'Z'; ++c) {
    if (longest_word(g.heads[c]) <= std::max(widest_cell(g, c), kNarrowestColumn)) continue;
    key += fmt::format("{}{}: {}", key.empty() ? "" : "; ", letter, g.heads[c]);
    g.heads[c] = letter++;
  }
  return key.empty() ? key : key + ".";
}

/// Removes columns from the end until the rest fits. Returns the removed ones; empty: more than a third would go.
std::string drop_columns(Grid& g, std::size_t width) {
  std::string dropped;
  const std::size_t fewest = (2 * g.columns() + 2) / 3;
  while (g.columns() > fewest) {
    dropped = g.heads.back() + (dropped.empty() ? "" : ", ") + dropped;
    g.heads.pop_back();
    g.right.pop_back();
    for (auto& row : g.cells) row.pop_back();
    if (fit(g, width)) return dropped;
  }
  return "";
}

/// Makes the grid fit and adds an explanation of the changes to `note`. False: impossible.
bool shorten(Grid& g, std::size_t width, std::string& note) {
  if (fit(g, width)) return true;
  const std::string key = use_letters(g);
  std::string dropped;
  if (!fit(g, width)) {
    dropped = drop_columns(g, width);
    if (dropped.empty()) return false;
  }
  for (const std::string& more :
       {key, dropped.empty() ? "" : "No room for: " + dropped + "; set COLUMNS, or use --json."})
    if (!more.empty()) note += (note.empty() ? "" : " ") + more;
  return true;
}

std::string line_of(const Grid& g, const std::vector<std::vector<std::string>>& wrapped, std::size_t line) {
  std::string out;
  for (std::size_t c = 0; c < g.columns(); ++c) {
    const std::string text = line < wrapped[c].size() ? wrapped[c][line] : "";
    if (c > 0) out += std::string(kColumnGap, ' ');
    out += g.right[c] ? pad_left(text, g.widths[c]) : pad_right(text, g.widths[c]);
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

std::string rows_of(const Grid& g, const std::vector<std::string>& cells, bool bottom, const TextStyle& style) {
  std::vector<std::vector<std::string>> wrapped;
  std::size_t lines = 1;
  for (std::size_t c = 0; c < g.columns(); ++c) {
    wrapped.push_back(wrap_words(cells[c], g.widths[c]));
    lines = std::max(lines, wrapped.back().size());
  }
  if (bottom) {  // headings are directly above the rule
    for (auto& w : wrapped) w.insert(w.begin(), lines - w.size(), "");
  }
  std::string out;
  for (std::size_t i = 0; i < lines; ++i) {
    const std::string line = line_of(g, wrapped, i);
    out += (bottom ? style.bold(line) : line) + "\n";
  }
  return out;
}

std::string as_lists(const Grid& g, const TextStyle& style) {
  std::string out;
  for (const auto& row : g.cells) {
    for (std::size_t c = 0; c < g.columns(); ++c) {
      const std::string item = g.heads[c].empty() ? row[c] : g.heads[c] + ": " + row[c];
      const auto lines = wrap_words(item, style.width() - 4);
      for (std::size_t i = 0; i < lines.size(); ++i) out += (c == 0 && i == 0 ? "- " : "  ") + lines[i] + "\n";
    }
  }
  return out;
}

}  // namespace

std::string text_of(const Table& table, const TextStyle& style) {
  std::string out;
  for (const std::string& line : wrap_words(style.clean(table.title), style.width())) {
    if (!table.title.empty()) out += style.bold(line) + "\n";
  }
  const Grid whole = make_grid(table, style);
  Grid grid = whole;
  std::string note = table.note;
  if (grid.columns() > 0 && !shorten(grid, style.width(), note)) {
    out += as_lists(whole, style);
  } else if (grid.columns() > 0) {
    out += rows_of(grid, grid.heads, true, style);
    std::vector<std::string> rule;
    for (const std::size_t w : grid.widths) rule.push_back(repeat(style.rule(), w));
    for (std::size_t c = 0; c < rule.size(); ++c) out += (c > 0 ? std::string(kColumnGap, ' ') : "") + rule[c];
    out += "\n";
    for (const auto& row : grid.cells) out += rows_of(grid, row, false, style);
  }
  return note.empty() ? out : out + style.wrapped(note, 2);
}

}  // namespace busbar::report
