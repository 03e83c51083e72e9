// The script that lets a reader explore a timeline. The page works without it.
#pragma once

#include <string_view>

namespace busbar::report {

/// What stands between <script> and </script>; valid in HTML and in XML.
std::string_view timeline_script();
/// The hash of the script as in a Content-Security-Policy: "sha256-...". tests/browser checks that it is that of the
/// script.
std::string_view timeline_script_hash();

}  // namespace busbar::report
