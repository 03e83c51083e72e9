// Compares what several bundles say about their hosts.
#pragma once

#include <vector>

#include "busbar/doctor/diagnose.h"
#include "busbar/doctor/evidence.h"

namespace busbar::doctor {

/// For two archives or more (EvidenceFile::archive): a finding for each archive whose settings, releases, limits, link
/// widths, rates or numbers of devices differ from the majority, the one with most differences first; then a finding
/// for values without a majority. Counters and values that change from run to run are not compared.
std::vector<Finding> compare_bundles(const Evidence& evidence);

}  // namespace busbar::doctor
