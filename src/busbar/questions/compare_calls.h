// A collective on several machines, fabrics, algorithms and numbers of GPUs.
#pragma once

#include <string>
#include <vector>

#include "busbar/predict/prediction.h"
#include "busbar/questions/compare_run.h"

namespace busbar::questions {

struct CallsAsk {
  collectives::Collective op{};
  std::vector<Bytes> sizes;
  std::vector<std::string> algorithms;  ///< "auto", "ring"; at least one
  bool usual = false;                   ///< they are usual_algorithms(): those that a machine cannot run are not shown
  std::uint32_t from = 0, to = 0;       ///< GPUs, doubling; 0: the machines as they are
};

/// Those that libraries run `op` by without switches of the fabric, or if these are less than two, all.
std::vector<std::string> usual_algorithms(collectives::Collective op);

/// A machine with a fabric and an algorithm, at one size of the call.
struct CallRow {
  std::string machine, fabric, algorithm;  ///< as typed, the machine with its size
  std::uint32_t gpus = 0;
  Bytes size{0};
  collectives::Collective op{};
  double time_s = 0, busbw = 0;  ///< GB/s
  std::string how, limit;        ///< "ring, ll128"; "bandwidth of nvlink4 x5"
  predict::Band band;
  double capex_usd = 0, power_w = 0;     ///< capex: 0 if a price is missing
  std::optional<PacketTimes> packets{};  ///< where the fabric says how they are sent: the time is then theirs
  std::string refused;                   ///< why there is no time; empty: there is one
};
/// Every machine x fabric x number of GPUs x algorithm x size. Algorithms that cannot run a call have the reason.
/// Stops early, with the rows so far, if a signal asks for it.
Result<std::vector<CallRow>> run_calls(const CompareAsk& ask, const CallsAsk& calls, const Context& context);

}  // namespace busbar::questions
