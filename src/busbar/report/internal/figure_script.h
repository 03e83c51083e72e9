// The script that saves pictures of a page. The page works without it.
#pragma once

#include <string_view>

namespace busbar::report {

/// As timeline_script(). It stands before the other scripts, which may replace pictures.
std::string_view figure_script();
std::string_view figure_script_hash();

}  // namespace busbar::report
