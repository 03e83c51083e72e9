// A link, and the part of a connection that crosses it.
#pragma once

#include "busbar/topology/topology.h"

namespace busbar::routing {

struct LinkShare {
  topology::LinkId link;
  double share;  ///< part of the connection's bytes that cross this link, (0, 1]
};

}  // namespace busbar::routing
