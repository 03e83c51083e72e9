// The algorithms behind control.h. Each is explained where it is defined.
#pragma once

#include "busbar/packet/internal/control.h"

namespace busbar::packet {

void nscc_begin(Control& c, const ControlSettings& s, Ps now, double bdp);
void nscc_ack(Control& c, const ControlSettings& s, const AckReport& report);
void nscc_loss(Control& c, const ControlSettings& s, Ps now, double bytes, double in_flight);

void dcqcn_begin(Control& c, const ControlSettings& s);
void dcqcn_ack(Control& c, const ControlSettings& s, const AckReport& report);
void dcqcn_clock(Control& c, const ControlSettings& s, Ps now);

void dctcp_ack(Control& c, const ControlSettings& s, const AckReport& report);
void dctcp_loss(Control& c, const ControlSettings& s, Ps now);
void cubic_ack(Control& c, const ControlSettings& s, const AckReport& report);
void cubic_loss(Control& c, const ControlSettings& s, Ps now);
void swift_ack(Control& c, const ControlSettings& s, const AckReport& report);
void hpcc_ack(Control& c, const ControlSettings& s, const AckReport& report);

}  // namespace busbar::packet
