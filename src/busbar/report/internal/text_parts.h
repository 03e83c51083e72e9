// The parts of render_text, one per kind of block. Each returns whole lines that end in '\n'.
#pragma once

#include <string>
#include <string_view>

#include "busbar/report/document.h"

namespace busbar::report {

/// Options and basic elements of terminal output.
class TextStyle {
 public:
  explicit TextStyle(const TextOptions& options);
  std::size_t width() const { return width_; }
  std::string clean(std::string_view text) const;  ///< safe to print (escape_terminal)
  std::string bold(std::string_view text) const;
  std::string muted(std::string_view text) const;
  std::string_view glyph(int colour) const;  ///< one cell that represents a palette entry
  std::string paint(int colour, std::string_view text) const;
  std::string_view rule() const { return utf8_ ? "\u2500" : "-"; }
  std::string_view bar_edge() const { return utf8_ ? "\u2502" : "|"; }
  /// Wrapped to the width; every line begins with `indent` spaces.
  std::string wrapped(std::string_view text, std::size_t indent) const;

 private:
  std::size_t width_;
  bool colour_, utf8_;
};

/// Columns as wide as needed. If the terminal is narrower, these steps follow until the table fits:
/// - headings wrap;
/// - left-aligned cells wrap;
/// - wide headings become letters;
/// - up to a third of the columns are left out;
/// - every row becomes a list of "heading: value".
std::string text_of(const Table& table, const TextStyle& style);
std::string text_of(const Facts& facts, const TextStyle& style);
std::string text_of(const Bars& bars, const TextStyle& style);
std::string text_of(const TimelineView& view, const TextStyle& style);
std::string text_of(const Drawing& drawing, const TextStyle& style);
std::string text_of(const Motion& motion, const TextStyle& style);
std::string text_of(const Fold& fold, const TextStyle& style);
std::string text_of(const Heading& heading, const TextStyle& style);
std::string text_of(const Paragraph& paragraph, const TextStyle& style);
std::string text_of(const Highlight& highlight, const TextStyle& style);

}  // namespace busbar::report
