// Flows packet by packet, in tables and curves.
#pragma once

#include "busbar/questions/packet_flows.h"
#include "busbar/report/document.h"

namespace busbar::views {

report::Document packet_flows_document(const questions::PacketFlowsResult& result);

}  // namespace busbar::views
