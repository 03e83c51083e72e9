#include "busbar/report/style.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace busbar::report {
namespace {

// With these colours series 0..6 keep a CIE 1976 distance of 14 or more in normal and simulated deutan, protan and
// tritan vision; style_test checks it.
constexpr std::array<Ink, colour::kCount> kPalette{{
    {"compute", "#2e73bc", "#4a90e2", "#2e73bc", "#4a90e2"},
    {"tensor parallel", "#dd7a12", "#f5a142", "#dd7a12", "#f5a142"},
    {"data parallel", "#159a72", "#2cc79a", "#159a72", "#2cc79a"},
    {"pipeline", "#6a2c91", "#d3a9ee", "#6a2c91", "#d3a9ee"},
    {"idle", "#c9cfd8", "#454e5c", "#858f9d", "#8993a1"},
    {"optimizer", "#a3143c", "#e5486b", "#a3143c", "#e5486b"},
    {"other", "#4b5563", "#9aa5b4", "#4b5563", "#9aa5b4"},
    {"floor", "#111827", "#f3f4f6", "#111827", "#f3f4f6"},
    {"GPU", "#ddefe4", "#1c3a2a", "#2e7d4f", "#5fbf8a"},
    {"switch", "#e3e7f6", "#262e52", "#4c57a8", "#8f9cf0"},
    {"NIC", "#fcecd6", "#46321a", "#ac5f0b", "#e6a85a"},
    {"CPU", "#f2e4ee", "#40253a", "#8b3f78", "#d58cc2"},
    {"leaf", "#dcebf7", "#18344b", "#2b6ea3", "#6db3ea"},
    {"spine", "#e8e3f5", "#32284f", "#6a4aa3", "#ab8ee6"},
    {"context parallel", "#0e9cc9", "#67d4f0", "#0e9cc9", "#67d4f0"},
    {"expert parallel", "#8a6a00", "#d6b646", "#8a6a00", "#d6b646"},
    {"group", "#f4f6f9", "#1b212a", "#d3d9e2", "#343d4a"},
    {"text", "#111827", "#e8ebf0", "#111827", "#e8ebf0"},
    {"note", "#566070", "#a3adbb", "#566070", "#a3adbb"},
}};

/// Strokes of a colour besides its tone, so that prints without colours and readers who see none tell parts apart.
struct Hatch {
  int colour;
  std::string_view lines;     ///< in a tile of 8 x 8
  std::string_view gradient;  ///< the same as a CSS image
};
constexpr std::string_view kTwoLines = "transparent 0 3px,var(--hatch) 3px 4px",
                           kOneLine = "transparent 0 7px,var(--hatch) 7px 8px";
constexpr std::array<Hatch, 6> kHatches{{{colour::kTp, "M-1 9L9 -1", "135deg"},
                                         {colour::kDp, "M-1 -1L9 9", "45deg"},
                                         {colour::kPp, "M0 2H8M0 6H8", "0deg"},
                                         {colour::kOptimizer, "M2 0V8M6 0V8", "90deg"},
                                         {colour::kCp, "M0 4H8", "0deg"},
                                         {colour::kEp, "M4 0V8", "90deg"}}};

std::string gradient_of(const Hatch& h) {
  const bool close = h.colour == colour::kPp || h.colour == colour::kOptimizer;
  return fmt::format("repeating-linear-gradient({},{})", h.gradient, close ? kTwoLines : kOneLine);
}

struct Rgb {
  double r = 0, g = 0, b = 0;
};

int hex(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

Rgb parse(std::string_view text) {
  const auto pair = [&](std::size_t i) { return (hex(text[i]) * 16 + hex(text[i + 1])) / 255.0; };
  return {pair(1), pair(3), pair(5)};
}

/// Relative luminance, WCAG 2.2 "relative luminance".
double luminance(std::string_view text) {
  const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  const Rgb c = parse(text);
  return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
}

std::string variables(Theme theme) {
  std::string out;
  for (int i = 0; i < colour::kCount; ++i) {
    const Ink& c = ink(i);
    out += fmt::format("--c{0}:{1};--e{0}:{2};--t{0}:{3};", i, c.fill(theme), c.edge(theme), letters_on(i, theme));
  }
  for (int i = 0; i < kHeatSteps; ++i) out += fmt::format("--h{}:{};", i, heat_colour(i, theme));
  const bool light = theme == Theme::kLight;
  out += light ? "--hatch:#ffffff99;" : "--hatch:#00000080;";
  out += fmt::format("--bg:{};--ink:{};--muted:{};--rule:{};--soft:{};--accent:{};", page_colour(theme),
                     ink_colour(theme), ink(colour::kMuted).fill(theme), light ? "#dfe3ea" : "#2d3541",
                     ink(colour::kFrame).fill(theme), ink(colour::kCompute).fill(theme));
  return out;
}

}  // namespace

int known_colour(int index) { return index >= 0 && index < colour::kCount ? index : colour::kOther; }
const Ink& ink(int index) { return kPalette[static_cast<std::size_t>(known_colour(index))]; }
std::string_view page_colour(Theme theme) { return theme == Theme::kLight ? "#ffffff" : "#12161c"; }
std::string_view ink_colour(Theme theme) { return ink(colour::kInk).fill(theme); }

std::string_view letters_on(int index, Theme theme) {
  constexpr std::string_view kDark = "#0f141b", kWhite = "#ffffff";
  const std::string_view fill = ink(index).fill(theme);
  return contrast(kDark, fill) >= contrast(kWhite, fill) ? kDark : kWhite;
}

int heat_step(double load) {
  if (!(load > 0)) return 0;
  return std::min(kHeatSteps - 1, static_cast<int>(std::min(load, 1.0) * kHeatSteps + 1e-9));
}

std::string heat_colour(int step, Theme theme) {
  constexpr std::array<std::string_view, 6> kLightStops{"#ccd4de", "#9fbbdc", "#7f93d2",
                                                        "#9a5fb0", "#b02a62", "#7d0b1c"};
  constexpr std::array<std::string_view, 6> kDarkStops{"#3d4756", "#4a6a96", "#7b7fcb",
                                                       "#c07fc4", "#f59a9c", "#ffe0b8"};
  const auto& stops = theme == Theme::kLight ? kLightStops : kDarkStops;
  const double at = std::clamp(step, 0, kHeatSteps - 1) * 5.0 / (kHeatSteps - 1);
  const auto left = std::min<std::size_t>(4, static_cast<std::size_t>(at));
  const double part = at - static_cast<double>(left);
  const Rgb a = parse(stops[left]), b = parse(stops[left + 1]);
  const auto mix = [&](double x, double y) { return static_cast<int>(std::lround(255 * (x + (y - x) * part))); };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b));
}

double contrast(std::string_view a, std::string_view b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

std::string palette_css(std::string_view root) {
  std::string out = fmt::format("{}{{{}}}\n", root, variables(Theme::kLight));
  out += fmt::format("@media screen and (prefers-color-scheme:dark){{{}{{{}}}}}\n", root, variables(Theme::kDark));
  for (int i = 0; i < colour::kCount; ++i) {
    out += fmt::format(".c{0}{{fill:var(--c{0})}}.l{0}{{stroke:var(--e{0})}}.t{0}{{fill:var(--t{0})}}", i);
    out += fmt::format(".k{0}{{background:var(--c{0});border-color:var(--e{0})}}\n", i);
  }
  for (const Hatch& h : kHatches) out += fmt::format(".k{}{{background-image:{}}}\n", h.colour, gradient_of(h));
  for (int i = 0; i < kHeatSteps; ++i) {
    out += fmt::format(".h{0}{{stroke:var(--h{0})}}.g{0}{{fill:var(--h{0})}}.b{0}{{background:var(--h{0})}}", i);
  }
  out +=
      "\nsvg text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif;"
      "font-variant-numeric:tabular-nums}\n"
      ".ink{fill:var(--ink)}.mut{fill:var(--muted)}.bold{font-weight:600}.n{fill:none}\n";
  return out;
}

bool is_hatched(int colour) {
  return std::any_of(kHatches.begin(), kHatches.end(), [&](const Hatch& h) { return h.colour == colour; });
}

std::string hatch_css() {
  std::string out;
  for (const Hatch& h : kHatches)
    out += fmt::format(".bars rect.c{0}{{fill:url(#q{0})}}.plot .over{0}{{fill:url(#r{0});pointer-events:none}}\n",
                       h.colour);
  return out;
}

std::string hatch_svg() {
  constexpr double kWideUnits = 9;  // of a timeline's picture, in a pixel across
  std::string out = "<svg width=\"0\" height=\"0\" class=\"tiles\" aria-hidden=\"true\"><defs>";
  for (const Hatch& h : kHatches)
    out += fmt::format(
        "<pattern id=\"q{0}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
        "<path d=\"M0 0H8V8H0z\" class=\"c{0}\"/><path d=\"{1}\" class=\"hatch\"/></pattern>"
        "<pattern id=\"r{0}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" patternTransform=\"scale({2} "
        "1)\">"
        "<path d=\"{1}\" class=\"hatch\"/></pattern>",
        h.colour, h.lines, kWideUnits);
  return out + "</defs></svg>\n";
}

}  // namespace busbar::report
