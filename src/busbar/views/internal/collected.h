// Made by the build: the functions of all files *_view.cc of this folder, see CMakeLists.txt.
#pragma once

#include <vector>

#include "busbar/views/view.h"

namespace busbar::views {

std::vector<View> collected_views();

}  // namespace busbar::views
