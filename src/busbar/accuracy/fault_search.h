// Which fault of a machine explains measured results: every single part and faults of the whole, ranked by fit.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "busbar/accuracy/expect.h"
#include "busbar/accuracy/suspects.h"

namespace busbar::accuracy {

/// A fault, or several that these results cannot tell apart, with the factors that fit best.
struct Culprit {
  std::vector<Suspect> faults;      ///< best fit first
  std::vector<double> factors;      ///< remaining share of the rate, per fault; 0: dead; 1: not a matter of rate
  std::vector<double> confidences;  ///< share of the likelihood, per fault, in [0, 1]
  double misfit = 0;                ///< sum of squares of the first, in units of the noise
  double confidence = 0;            ///< of all together
  double slower_percent = 0;        ///< predicted time of the plateau above that of the sound machine
  double off = 0;                   ///< median of the logarithms of measured over predicted times, large sizes
  /// Whether all are parts, or all are one fault of the whole machine.
  bool of_one_kind() const;
};

struct FaultSearchResult {
  std::vector<Culprit> ranked;      ///< best first; empty if nothing changes the time
  double sound_confidence = 1;      ///< that there is no fault larger than the nuisances
  bool told = false;                ///< some fault explains the results, and a sound machine does not
  bool fits = true;                 ///< the first explains the results within their noise
  bool named = false;               ///< told, fits, and the first, of one kind, has at least 80 % of the likelihood
  double scatter = 1;               ///< median factor between a time and what its neighbours let expect
  bool several_nodes = false;       ///< of the machine
  std::vector<std::string> unseen;  ///< selectors of parts whose faults would not show
};

/// The noise model. Healthy machines differ from their description by these amounts; each time is fitted with the best
/// values in these ranges before a fault is blamed. Source: spread of healthy twins in docs/accuracy.md.
struct NoiseModel {
  double link_share = 0.08;                    ///< rates of every kind of link
  double launch_low = 0.7, launch_high = 1.5;  ///< factor on the time before the first byte
  double noise = 0.03;                         ///< of one time, at large sizes
};

/// Times at most 8 of the sizes through predict, on the sound machine and with every fault and factor. `expected`: the
/// rows of expect_results(), whose bands widen the noise of small sizes. Cost: about 100 machines of the given size.
Result<FaultSearchResult> search_faults(std::span<const ExpectedRow> expected, const ExpectOptions& options,
                                        const NoiseModel& noise = {});

/// Whether a search is worth its time: the table is low, or its plateau is slower than the nuisances explain.
bool is_searched(const Expectation& e, const NoiseModel& noise = {});

/// A measurement that tells candidates apart, as a command.
struct NextMeasurement {
  std::string tells;    ///< "which node"
  std::string command;  ///< for a shell, with nccl-tests; writes files for `busbar localize`
};
/// At most two, for the candidates within the likelihood ratio of a named fault.
std::vector<NextMeasurement> next_measurements(const FaultSearchResult& found);

}  // namespace busbar::accuracy
