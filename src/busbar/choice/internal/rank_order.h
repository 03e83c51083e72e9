// An order of ranks that depends on the machine and not on how its parts are numbered.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "busbar/choice/internal/rank_routes.h"

namespace busbar::choice {

/// The ranks in an order given by their routes alone, `root` told from the others: colours of ranks are refined by
/// those of the links on their routes, and the other way round; while several ranks have one colour, one of the
/// smallest such class gets a colour of its own. Equal for two numberings of one machine, up to exchanging ranks that
/// no route tells apart. Source: colour refinement, B. Weisfeiler, A. Leman, 1968. Cost: up to ranks^3 x log(ranks).
std::vector<std::uint32_t> order_by_routes(const RankRoutes& routes, std::optional<std::uint32_t> root);

}  // namespace busbar::choice
