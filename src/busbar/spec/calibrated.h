// How a measured machine differs from the figures of its parts: the keys `calibrated`, `kernels` and `measured` of a
// cluster file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/program/protocol.h"
#include "busbar/spec/cluster.h"
#include "busbar/spec/measured_tables.h"
#include "busbar/spec/reading.h"
#include "busbar/topology/fabric.h"

namespace busbar::spec {

/// Multiplies every latency by `latency` and every rate by `rate`: of links, of software costs, and of devices that
/// limit the traffic through them. With latency k and rate 1/k, every call takes k times as long. Memory rates change
/// only with a rate below 1, because no software makes memory faster.
struct CalibratedFactors {
  double latency = 1, rate = 1;
  Duration launch_more;  ///< added to each launch after the factor is applied
};

Result<CalibratedFactors> read_calibrated(const YamlNode& map);

void calibrate_parts(const CalibratedFactors& factors, topology::NodeTemplate& node, topology::FabricSpec& fabric);
void calibrate_protocol(const CalibratedFactors& factors, program::ProtocolModel& protocol);

/// The key `kernels`: {time: 1.07, source: "..."}.
Result<double> read_kernel_time(const YamlNode& map);
/// The text of a cluster file in block style with this key instead of the one that it may have.
std::string with_kernel_time(std::string_view text, double time, const std::string& source);
/// The same machine on one line, which begins with '{', as load_cluster() takes it.
Result<std::string> on_one_line(const std::string& text);

/// The complete cluster file of `name` with `overrides`, without `measured`, whose tables go to `measured`.
Result<std::string> cluster_text(std::string_view name, const Overrides& overrides,
                                 std::vector<MeasuredTable>& measured);

}  // namespace busbar::spec
