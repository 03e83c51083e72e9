// How busy the links of a step are, over its time.
#pragma once

#include "busbar/report/document.h"
#include "busbar/topology/topology.h"
#include "busbar/trace/timeline.h"

namespace busbar::views {

/// A row per sort of link that carries something: the course of its busiest link, on one heat scale. Empty if none
/// does.
report::Drawing draw_link_courses(const topology::Topology& topology, const trace::Timeline& timeline);

}  // namespace busbar::views
