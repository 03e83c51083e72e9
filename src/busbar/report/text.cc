#include <fmt/core.h>

#include <algorithm>

#include "busbar/report/internal/text_parts.h"
#include "busbar/report/plain.h"
#include "busbar/report/style.h"

namespace busbar::report {
namespace {

struct Glyph {
  std::string_view utf8, ascii;
  int sgr;  ///< foreground colour, ECMA-48 SGR
};

constexpr Glyph glyph_of(int index) {
  switch (index) {
    case colour::kCompute:
      return {"\u2588", "#", 34};
    case colour::kTp:
      return {"\u2593", "=", 33};
    case colour::kDp:
      return {"\u2592", "%", 32};
    case colour::kPp:
      return {"\u2591", "-", 35};
    case colour::kIdle:
      return {"\u00b7", ".", 90};
    case colour::kOptimizer:
      return {"\u259a", "@", 31};
    case colour::kFloor:
      return {"\u2550", "|", 39};
    case colour::kCp:
      return {"\u259e", "*", 36};
    case colour::kEp:
      return {"\u25a4", "o", 93};
    default:
      return {"\u25aa", "+", 37};
  }
}

std::string render(const DocumentBlock& block, const TextStyle& style) {
  return std::visit([&](const auto& element) { return text_of(element, style); }, block.element);
}

}  // namespace

TextStyle::TextStyle(const TextOptions& options)
    : width_(static_cast<std::size_t>(std::clamp(options.columns, 40, 400))),
      colour_(options.colour),
      utf8_(options.utf8) {}

std::string TextStyle::clean(std::string_view text) const { return escape_terminal(text, utf8_); }
std::string TextStyle::bold(std::string_view text) const {
  return colour_ ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
}
std::string TextStyle::muted(std::string_view text) const {
  return colour_ ? fmt::format("\x1b[2m{}\x1b[0m", text) : std::string(text);
}
std::string_view TextStyle::glyph(int index) const {
  const Glyph g = glyph_of(known_colour(index));
  return utf8_ ? g.utf8 : g.ascii;
}
std::string TextStyle::paint(int index, std::string_view text) const {
  if (!colour_ || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", glyph_of(known_colour(index)).sgr, text);
}

std::string TextStyle::wrapped(std::string_view text, std::size_t indent) const {
  std::string out;
  for (const std::string& line : wrap_words(clean(text), width_ - indent)) {
    out += std::string(indent, ' ') + line + "\n";
  }
  return out;
}

std::string text_of(const Fold& fold, const TextStyle& style) { return text_of(Heading{fold.text}, style); }

std::string text_of(const Heading& heading, const TextStyle& style) {
  std::string out;
  std::size_t widest = 0;
  for (const std::string& line : wrap_words(style.clean(heading.text), style.width())) {
    out += style.bold(line) + "\n";
    widest = std::max(widest, display_width(line));
  }
  return out + repeat(style.rule(), widest) + "\n";
}

std::string text_of(const Paragraph& paragraph, const TextStyle& style) { return style.wrapped(paragraph.text, 0); }

std::string text_of(const Highlight& highlight, const TextStyle& style) {
  std::string out;
  for (const std::string& line : wrap_words(style.clean(highlight.text), style.width() - 4)) {
    out += (out.empty() ? "==> " : "    ") + style.bold(line) + "\n";
  }
  return out;
}

std::string text_of(const Facts& facts, const TextStyle& style) {
  std::string out;
  for (const std::string& line : wrap_words(style.clean(facts.title), style.width()))
    if (!facts.title.empty()) out += style.bold(line) + "\n";
  std::size_t widest = 0;
  for (const auto& [name, value] : facts.items) widest = std::max(widest, display_width(style.clean(name)));
  widest = std::min(widest, style.width() / 2);
  for (const auto& [name, value] : facts.items) {
    const auto names = wrap_words(style.clean(name), widest);
    const auto values = wrap_words(style.clean(value), style.width() - widest - 4);
    for (std::size_t i = 0; i < std::max(names.size(), values.size()); ++i) {
      const std::string name_line = i < names.size() ? names[i] : "";
      out += i < values.size() ? fmt::format("  {}  {}\n", pad_right(name_line, widest), values[i])
                               : fmt::format("  {}\n", name_line);
    }
  }
  return out;
}

std::string text_of(const Drawing& drawing, const TextStyle& style) {
  std::string text = drawing.title.empty() ? "A drawing" : "Drawing: " + drawing.title;
  if (!drawing.description.empty()) text += ". " + drawing.description;
  if (text.back() != '.') text += '.';
  return style.wrapped(text + " Shown in the HTML report.", 0);
}

std::string text_of(const Motion& motion, const TextStyle& style) {
  return text_of(Drawing{motion.title, motion.description}, style);
}

std::string render_text(const Document& document, const TextOptions& options) {
  const TextStyle style(options);
  std::string out;
  for (const std::string& line : wrap_words(style.clean(document.title), style.width())) {
    if (!document.title.empty()) out += style.bold(line) + "\n";
  }
  if (!document.command.empty()) {
    for (const std::string& line : wrap_words("$ " + style.clean(document.command), style.width())) {
      out += style.muted(line) + "\n";
    }
  }
  for (const DocumentBlock& block : document.blocks) {
    if (block.audience == Audience::kPage) continue;
    const std::string text = render(block, style);
    if (!text.empty()) out += (out.empty() ? "" : "\n") + text;
  }
  return out;
}

}  // namespace busbar::report
