// Ultra Ethernet style control at the sender; see nscc.cc.
#pragma once

#include "busbar/engine/packet/control.h"

namespace busbar::packet {

void nscc_begin(Control& c, const ControlSettings& s, Ps now);
void nscc_ack(Control& c, const ControlSettings& s, const News& news);
void nscc_loss(Control& c, const ControlSettings& s, Ps now, double bytes, double in_flight);

}  // namespace busbar::packet
