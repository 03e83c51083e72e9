// A value inside a JSON document, by its path.
#pragma once

#include <string_view>

#include "busbar/base/json.h"
#include "busbar/base/result.h"

namespace busbar::popular {

/// The number at `path`: keys separated by dots; an item of a list by its index or by a text or number that one of its
/// members has ("levels[scale-up].GBps_per_direction", "results[0].time_us"); "links[*]" is the number of items. A
/// truth is 1 or 0. Error kNotFound names the part of the path that leads nowhere.
Result<double> number_at(const Json& document, std::string_view path);

}  // namespace busbar::popular
