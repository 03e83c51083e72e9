// How often the parts of a machine end a job, and how often those of one machine do.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "busbar/spec/catalog.h"
#include "busbar/spec/cluster.h"

namespace busbar::survive {

/// The kind of part that a cause counts. Two CPUs count as a server, because the known rates are of servers with two;
/// where the machine's file has no CPUs, a node counts as one.
enum class FailingPart : std::uint8_t { kGpu, kNic, kCable, kSwitch, kServer };
inline constexpr FailingPart kLastFailingPart = FailingPart::kServer;
const char* name_of(FailingPart part);  ///< "gpu", "nic", "cable", "switch", "server"

struct FailureCause {
  std::string name;
  FailingPart part{};
  double per_year = 0;    ///< events per part that end a job
  bool hardware = false;  ///< the server of the part is taken out for repair
  bool waits = false;     ///< nothing crashes: the job notices when a collective times out
  bool network = false;   ///< the fabric, with NICs
  bool silent = false;    ///< results are wrong before anything is noticed
  std::string source;
};

/// A file of catalog/failures, or one of the user's with the same keys.
struct FailureRates {
  std::string name;
  std::vector<FailureCause> causes;
  double low = 1, high = 1;  ///< range of the sum of all rates, as factors
  std::string range_source;
  std::string text;  ///< as read, for inputs_hash
};
/// `name`: an entry of the catalogue, or a file (names_input() or *.yaml).
Result<FailureRates> read_failure_rates(const std::string& name, const spec::Catalog& catalog);

/// The number of parts of each kind. NICs: cards with a link to the fabric. Cables: as laid in the hall, or the links
/// of a fabric without real cables.
using PartCounts = std::array<std::uint64_t, static_cast<std::size_t>(kLastFailingPart) + 1>;
PartCounts count_parts(const spec::Cluster& cluster);

/// What ends the jobs that use a whole machine.
struct Interruptions {
  struct Line {
    FailureCause cause;
    std::uint64_t parts = 0;
    double per_day = 0;
  };
  std::vector<Line> lines;  ///< most frequent first; ties in the file's order
  double per_day = 0, hardware_per_day = 0, waiting_per_day = 0, network_per_day = 0, silent_per_day = 0;
};
Interruptions interruptions_of(const FailureRates& rates, const PartCounts& parts);

}  // namespace busbar::survive
