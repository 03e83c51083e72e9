// The script that plays a Motion. Without it the page has a still picture with mean loads.
#pragma once

#include <string_view>

namespace busbar::report {

/// What stands between <script> and </script>; valid in HTML and in XML.
std::string_view motion_script();
/// Its hash, as timeline_script_hash().
std::string_view motion_script_hash();

}  // namespace busbar::report
