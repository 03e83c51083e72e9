// Compares what several bundles say about their hosts.
#pragma once

#include <vector>

#include "busbar/doctor/diagnose.h"
#include "busbar/doctor/evidence.h"

namespace busbar {

/// For two archives or more (EvidenceFile::archive): a finding for each that differs from the value of the majority,
/// with settings, releases, limits, link widths, rates and numbers of devices; then one for what differs without a
/// majority. The one with most differences comes first. Counters and what changes from run to run are not compared.
std::vector<Finding> compare_bundles(const Evidence& evidence);

}  // namespace busbar
