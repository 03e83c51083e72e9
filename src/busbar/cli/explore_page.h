// The page of `busbar explore`: fields on the left, the predicted step on the right.
#pragma once

#include <string>
#include <string_view>

namespace busbar::cli {

/// The page. Its script and its style carry `nonce`, which explore_policy() names: a browser runs nothing else.
std::string explore_page(std::string_view nonce);
/// The Content-Security-Policy to send with it.
std::string explore_policy(std::string_view nonce);

/// Two parts of the script of the page, in this order.
std::string_view explore_script();
std::string_view explore_drawing_script();

}  // namespace busbar::cli
