// The output of a command, independent of its form and of any domain.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "busbar/base/json.h"

namespace busbar::report {

enum class Align : std::uint8_t { kLeft, kRight };
/// A text alone is a column of numbers: at the right, without bars.
struct Column {
  Column(std::string text, Align side = Align::kRight, double full = 0)
      : title(std::move(text)), align(side), bar_max(full) {}
  Column(const char* text) : Column(std::string(text)) {}

  std::string title;  ///< with its unit: "busbw (GB/s)"
  Align align;
  double bar_max;  ///< > 0: the page draws the number at the start of the cell as a bar; this value fills it
};
/// A column of words.
inline Column to_left(std::string title) { return {std::move(title), Align::kLeft}; }
struct Table {
  std::string title{};
  std::vector<Column> columns{};
  std::vector<std::vector<std::string>> rows{};
  std::string note{};
  bool changes = false;  ///< a page colours cells as "+3 %" (worse) and "-3.1" (better)
};

/// One bar, divided into named parts.
struct BarPart {
  std::string name{};
  double value = 0;
  int colour = 0;      ///< index into the palette of style.h
  std::string more{};  ///< under Bars::more: "-0.23 s"
};
struct Bar {
  std::string name{};
  std::vector<BarPart> parts{};
};
struct Bars {
  std::string title{};
  std::string unit{};  ///< "s", "GB"
  std::vector<Bar> bars{};
  double scale_max = 0;  ///< 0: the longest bar
  double mark = 0;       ///< a line across all bars, for instance the GPU's memory; 0: none
  std::string mark_name{};
  bool brief = false;  ///< on a page: a legend instead of the table of values
  std::string more{};  ///< of one bar: what else is said of each part, such as "if free"; empty: nothing
  std::string note{};
  bool lights = false;  ///< on a page: a part under the pointer lights its spans in the timeline, by colour
};

enum class Anchor : std::uint8_t { kMiddle, kStart, kEnd };

/// A place in a drawing, in user units.
struct Point {
  double x = 0, y = 0;
};

/// A piece of a picture in user units, y downwards. Later shapes cover earlier ones.
///   rect     corner (x, y), size w x h, `radius`
///   line     from (x, y) to (x + w, y + h)
///   curve    as line, leaving and arriving vertically
///   circle   centre (x, y), radius w
///   polygon  `points`; x, y, w, h unused
///   text     at (x, y), y being the middle of the letters; `anchor`, `size`; series colours draw as ordinary text
struct Shape {
  enum class Kind : std::uint8_t { kRect, kLine, kText, kCircle, kCurve, kPolygon } kind{};
  double x = 0, y = 0, w = 0, h = 0;
  int colour = 0;    ///< palette index (style.h)
  double heat = -1;  ///< 0..1: a load, drawn on the heat scale instead of `colour`; < 0: none
  double thickness = 1;
  std::string text{};  ///< label (kText) or tool tip
  Anchor anchor = Anchor::kMiddle;
  double size = 12;  ///< of letters
  double radius = 0;
  double opacity = 1;
  bool bold = false;
  bool dashed = false;  ///< a stroke
  std::vector<std::pair<double, double>> points{};
};
struct Drawing {
  std::string title{};
  std::string description{};  ///< one sentence for readers who cannot see the picture
  double width = 0, height = 0;
  std::vector<Shape> shapes{};
  std::string note{};
};

struct TimelineSpan {
  double start_s = 0, duration_s = 0;
  int colour = 0;
  std::string text{};       ///< what runs: "mlp"
  std::string limit{};      ///< what limits it; empty: not known
  std::int64_t id = -1;     ///< a number that no other span of the view has; below 0: none
  std::int64_t cause = -1;  ///< id of the span whose end allowed this one to start, or ended it if it is a wait
  bool wait = false;        ///< nothing runs here
  bool critical = false;    ///< on the path that decides how long the whole takes
};
struct TimelineRow {
  std::string group{}, name{};  ///< "stage 0", "compute"
  std::vector<TimelineSpan> spans{};
};
struct TimelineView {
  std::string title{};
  std::string note{};
  double start_s = 0, end_s = 0;
  std::vector<TimelineRow> rows{};
  std::vector<std::pair<std::string, int>> legend{};  ///< name, palette index
  bool explore = false;                               ///< the page also gets a script to zoom, search and follow causes
};

/// Boxes, lines between them, and things that move along the lines while a reader plays or scrubs.
struct MotionBox {
  double x = 0, y = 0, w = 0, h = 0;
  std::string label{};
  int colour = 0;
  std::string tip{};
  bool fills = false;  ///< shows how much of what it gets has arrived
};
/// Its directions are 2 i and 2 i + 1: from (x, y) to (to_x, to_y), and back.
struct MotionLine {
  double x = 0, y = 0, to_x = 0, to_y = 0;
  std::string tip{};
  double rate = 0, rate_back = 0;  ///< amount per second
};
struct MotionPath {
  std::vector<Point> points{};
  std::vector<std::pair<std::uint32_t, double>> lines{};  ///< direction, and the amount there per amount that moves
  std::uint32_t to = 0xffff'ffffu;                        ///< the box that it fills; none if there is no such box
};
struct MotionTrip {
  std::uint32_t path = 0;
  double start_s = 0, sent_s = 0, done_s = 0;  ///< it loads the lines until `sent_s`
  double amount = 0;
  int colour = 0;
  std::int64_t label = -1;  ///< below 0: none
};
/// A piece of a formula. `term`: the row of MotionPane::terms that it shows; below 0: none.
struct MotionPiece {
  std::string text{};
  int term = -1;
};
struct MotionPane {
  std::string name{};
  double end_s = 0;
  std::string end{};  ///< the same in words, as tables have it
  std::vector<MotionPath> paths{};
  std::vector<MotionTrip> trips{};  ///< by start
  std::vector<MotionPiece> formula{};
  std::vector<std::string> terms{};  ///< "latency"
  struct Part {
    int term = 0;
    double begin_s = 0, end_s = 0;
  };
  std::vector<Part> parts{};  ///< when each term of the formula occurs
  std::string note{};
};
struct Motion {
  std::string title{}, description{}, note{};
  double width = 0, height = 0;
  std::vector<MotionLine> lines{};
  std::vector<MotionBox> boxes{};                     ///< cover the lines
  std::vector<Shape> frames{};                        ///< under everything
  std::vector<MotionPane> panes{};                    ///< two are shown; at first the first two
  std::vector<std::pair<std::string, int>> legend{};  ///< name, palette index
};

struct Heading {
  std::string text;
  bool new_page = false;  ///< of paper
};
/// Begins a part that a page shows when the reader opens it, up to the next Heading or Fold.
struct Fold {
  std::string text;
  bool printed = true;  ///< on paper it is open; otherwise only its name is there
};
struct Paragraph {
  std::string text;
};
/// The one sentence that no reader should miss.
struct Highlight {
  std::string text;
  std::string struck{};  ///< words of it that do not hold: a page strikes them, and shows the whole as a failure
};
/// Key and value lines: "step time   9.31 s".
struct Facts {
  std::string title{};
  std::vector<std::pair<std::string, std::string>> items{};
};

using BlockElement =
    std::variant<Heading, Fold, Paragraph, Highlight, Facts, Table, Bars, Drawing, TimelineView, Motion>;

/// Where a block appears: the terminal is short, the page is complete.
enum class Audience : std::uint8_t { kBoth, kTerminal, kPage };
struct DocumentBlock {
  BlockElement element{};
  Audience audience = Audience::kBoth;
};

struct Document {
  std::string title{};
  std::string command{};  ///< the command line that produced it
  std::vector<DocumentBlock> blocks{};
  Json data{};  ///< the result, which a page carries; null: none

  /// Appends a block; a picture of nothing is left out.
  void add(BlockElement element, Audience audience = Audience::kBoth) {
    const auto* const drawing = std::get_if<Drawing>(&element);
    const auto* const motion = std::get_if<Motion>(&element);
    if ((drawing == nullptr || !drawing->shapes.empty()) && (motion == nullptr || !motion->panes.empty()))
      blocks.push_back({std::move(element), audience});
  }
};

/// Plain text for a terminal of `columns` columns (at least 40). Colour only on request; ASCII unless `utf8`.
struct TextOptions {
  int columns = 100;
  bool colour = false;
  bool utf8 = false;
};
std::string render_text(const Document& document, const TextOptions& options);
/// One self-contained HTML page: needs no network, library or scripts; has dark and light themes; prints.
std::string render_html(const Document& document);
/// A single drawing as an SVG file.
std::string render_svg(const Drawing& drawing);

}  // namespace busbar::report
