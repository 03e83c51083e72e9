// Prepares strings for output: for markup, for terminals, and cut to a width.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace busbar::report {

/// For text and attribute values of HTML, XHTML and SVG. & < > " ' become entities; bytes that are not UTF-8 and
/// controls that XML 1.0 forbids become U+FFFD.
std::string escape_markup(std::string_view text);

/// For a terminal. Controls (including escape sequences) and marks that change the direction of text become '?', tabs
/// and line breaks a space. Without `utf8` our own signs are written in ASCII and other characters become '?'.
std::string escape_terminal(std::string_view text, bool utf8);

/// Cells that `text` takes on a terminal: one per code point. Limits: wide and combining characters count as one.
std::size_t display_width(std::string_view text);

/// Lines of at most `width` cells (at least 1), broken at spaces; longer words are cut. Never empty.
std::vector<std::string> wrap_words(std::string_view text, std::size_t width);

/// `text` filled with spaces to `width` cells on the right, or on the left; unchanged if it is longer.
std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);

/// `glyph` (one cell, any number of bytes) `n` times.
std::string repeat(std::string_view glyph, std::size_t n);

}  // namespace busbar::report
