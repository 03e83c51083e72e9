// The job of a log on the described machine: which GPU runs each rank, with which settings, and the model's rings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/doctor/log_against_machine.h"
#include "busbar/nccl/tuning.h"

namespace busbar::doctor {

struct LoggedJob {
  const formats::NcclLog* log = nullptr;
  const formats::LoggedCommunicator* said = nullptr;
  accuracy::ExpectOptions options;       ///< with release and settings of the log
  spec::Cluster sound;                   ///< as described
  spec::Cluster cluster;                 ///< with the settings of the log applied
  std::vector<topology::DeviceId> gpus;  ///< by rank
  nccl::NcclComm comm;
  nccl::NcclTuning tuning;
};

/// The log's largest communicator; null without any of two ranks.
const formats::LoggedCommunicator* largest_communicator(const formats::NcclLog& log);

/// Rank r of `said` runs on the result[r]. Error kInvalid if the machine is too small.
Result<std::vector<topology::DeviceId>> gpus_of_ranks(const formats::LoggedCommunicator& said,
                                                      const topology::Topology& topology);

/// The communicator of the job's GPUs with these settings.
Result<nccl::NcclComm> comm_of_job(const LoggedJob& job, const nccl::NcclSettings& settings);

/// Predicted time in microseconds of one call over the ranks of the job, with more variables ("NCCL_NVLS_ENABLE=0") and
/// without the cables of these parts. `op`, `bytes`: the call.
Result<double> time_of_job(const LoggedJob& job, collectives::Collective op, std::uint64_t bytes,
                           const std::vector<std::string>& variables = {}, const std::vector<std::string>& failed = {});

/// What differs in the network, the transports and the NICs.
void compare_transports(const LoggedJob& job, LogComparison& out);
/// What differs in channels, rings and trees.
void compare_channels(const LoggedJob& job, LogComparison& out);
/// What differs in algorithms and protocols.
void compare_picks(const LoggedJob& job, LogComparison& out);

inline constexpr std::uint64_t kPricedBytes = std::uint64_t{1} << 30;

/// Adds the cost of the variables or failed parts that make the model do as logged. The expected time in microseconds;
/// empty if it cannot be predicted.
std::optional<double> price(const LoggedJob& job, LogDifference& difference, const std::vector<std::string>& variables,
                            const std::vector<std::string>& failed = {});

/// The same for fewer channels. `logged`: the communicator with the numbers of channels of the log. The prediction
/// limits channels by their links alone, so an upper bound of the cost is added.
void price_channels(const LoggedJob& job, LogDifference& difference, const nccl::NcclComm& logged,
                    const std::vector<std::string>& variables);

/// Adds the cost of the rings or trees of the log, in place of those of the rules.
void price_rings(const LoggedJob& job, LogDifference& difference);
void price_trees(const LoggedJob& job, LogDifference& difference);

}  // namespace busbar::doctor
