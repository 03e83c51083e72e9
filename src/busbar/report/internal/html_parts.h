// The parts of render_html, one per kind of block. All write well-formed XML that is also HTML.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/json.h"
#include "busbar/report/document.h"

namespace busbar::report {

std::string html_of(const Table& table);
std::string html_of(const Facts& facts);
std::string html_of(const Bars& bars);
std::string html_of(const TimelineView& view);
std::string html_of(const Drawing& drawing);
std::string html_of(const Motion& motion);

/// `<title>` and `<desc>` for the start of an SVG; a picture without title gets `fallback`.
std::string svg_names(const std::string& title, const std::string& description, const std::string& fallback);
/// The shapes of a drawing, without the `<svg>` around them.
std::string svg_shapes(const Drawing& drawing);
/// For sentences: no line ends between a number and its unit, or after the hyphen of "leaf0->nic1" and "ZeRO-2".
std::string prose_markup(std::string_view text);
/// JSON for a script of the page, safe for the parsers of HTML and XML.
std::string script_data(const Json& data);
/// A small square in palette colour `colour`, for legends.
std::string swatch(int colour);

}  // namespace busbar::report
