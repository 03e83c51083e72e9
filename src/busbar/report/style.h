// The appearance of a report: one small palette with fixed meanings, one heat scale, one style sheet.
#pragma once

#include <string>
#include <string_view>

namespace busbar::report {

inline constexpr double kDrawingWidth = 1056;  ///< user units; the width of a page

/// Palette indices. Readers with deutan, protan and tritan vision can also tell series 0..6 apart; these have a
/// contrast of 3:1 to the page in both themes. Idle time is pale on purpose and has an outline. Devices: a tint and an
/// edge.
namespace colour {
inline constexpr int kCompute = 0, kTp = 1, kDp = 2, kPp = 3, kIdle = 4, kOptimizer = 5, kOther = 6, kFloor = 7;
inline constexpr int kGpu = 8, kSwitch = 9, kNic = 10, kCpu = 11, kLeaf = 12, kSpine = 13;
inline constexpr int kCp = 14, kEp = 15;
inline constexpr int kFrame = 16;  ///< the box around a group
inline constexpr int kInk = 17;    ///< text
inline constexpr int kMuted = 18;  ///< secondary text
inline constexpr int kCount = 19;
}  // namespace colour

/// `index` if the palette has it, otherwise kOther.
int known_colour(int index);

enum class Theme { kLight, kDark };
struct Ink {
  std::string_view name;  ///< as in a legend
  std::string_view light_fill, dark_fill;
  std::string_view light_edge, dark_edge;
  std::string_view fill(Theme t) const { return t == Theme::kLight ? light_fill : dark_fill; }
  std::string_view edge(Theme t) const { return t == Theme::kLight ? light_edge : dark_edge; }
};
const Ink& ink(int index);
std::string_view page_colour(Theme theme);
std::string_view ink_colour(Theme theme);
/// The colour of letters on `index`: near-black or white, whichever has more contrast.
std::string_view letters_on(int index, Theme theme);

inline constexpr int kHeatSteps = 10;
/// The step of the heat scale for a load of 0..1 (clamped; NaN is 0).
int heat_step(double load);
/// The colour of a step as "#rrggbb". Lightness falls (light theme) or rises (dark theme) with every step.
std::string heat_colour(int step, Theme theme);

/// WCAG 2.2 contrast ratio of two "#rrggbb" colours, 1..21.
double contrast(std::string_view a, std::string_view b);

/// CSS: variables of both themes under `root` (":root", "svg"), the light theme for printing, and the classes used by
/// pictures: cN fill of palette entry N, lN line, tN letters on N, kN background; hN line and gN fill of heat N.
std::string palette_css(std::string_view root);
/// Whether parts of this colour have a hatch.
bool is_hatched(int colour);
/// Hatches of bars and timelines: the tiles, once in a page, and the CSS that uses them.
std::string hatch_svg();
std::string hatch_css();
/// CSS of the page itself.
std::string_view page_css();

}  // namespace busbar::report
