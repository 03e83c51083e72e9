// What the keys of a cluster file mean, for comments in files that we write.
#pragma once

#include <string_view>

namespace busbar::spec {

/// By the path of a key without list indices ("fabric.cable_m"), or by its last word. Empty: the key explains itself.
std::string_view help_of_key(std::string_view path);

}  // namespace busbar::spec
