// How a machine differs from the figures of its parts, as measured on it: the key `calibrated` of a cluster file.
#pragma once

#include <string>

#include "busbar/program/protocol.h"
#include "busbar/spec/cluster.h"
#include "busbar/spec/reading.h"
#include "busbar/topology/fabric.h"

namespace busbar {

/// Every latency is `latency` times, every rate `rate` times what the parts say: those of links, of what software
/// costs, and of devices that limit what passes them. A machine of latency k and rate 1/k takes k times as long for
/// every call. Memory follows only a rate below 1, for no software makes it faster.
struct CalibratedFactors {
  double latency = 1, rate = 1;
  Duration launch_more;  ///< of a launch, beyond what the factor makes of it
};

Result<CalibratedFactors> read_calibrated(const YamlNode& map);
/// "calibrated: {...}", as read_calibrated() reads it.
std::string calibrated_yaml(const CalibratedFactors& factors);

void calibrate_parts(const CalibratedFactors& factors, NodeTemplate& node, FabricSpec& fabric);
void calibrate_protocol(const CalibratedFactors& factors, ProtocolModel& protocol);

/// The whole cluster file that `name` with `overrides` stands for, but for `calibrated`, whose factors go to `factors`.
Result<std::string> cluster_text(std::string_view name, const Overrides& overrides, CalibratedFactors& factors);

}  // namespace busbar
