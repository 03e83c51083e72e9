// A user's measurements of single links: p2pBandwidthLatencyTest, and perftest (ib_write_bw, ib_send_lat, ...).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/accuracy/used_results.h"
#include "busbar/base/result.h"

namespace busbar::accuracy {

struct LinkTest {
  enum class Kind : std::uint8_t {
    kPairRates,           ///< GB/s of pairs of GPUs that reach each other
    kHostCopiesBothWays,  ///< of copies through host memory, what is left of a direction when both are in use
    kHostCopyLatency,     ///< us of such copies
    kNicRate,             ///< GB/s from host memory to host memory of another node
    kGpuNicRate,          ///< the same between memories of GPUs
    kNicLatency,          ///< us one way, between host memories
    kOther,               ///< no parameter of the model
  };
  Kind kind = Kind::kOther;
  std::string what;  ///< as the file calls it
  MeasuredAt at;
  std::string product;                     ///< of the GPUs; empty: not said
  std::vector<std::vector<double>> pairs;  ///< by sender and receiver; 0: not measured
  double value = 0;                        ///< of tests between NICs
  std::string why;                         ///< for kOther: why it fits no parameter
};

/// Whether the text holds such tests.
bool looks_like_link_tests(std::string_view text);

/// In the order of the text. Errors with line: a broken matrix, a table without rows.
Result<std::vector<LinkTest>> read_link_tests(std::string_view text, const std::string& name);

}  // namespace busbar::accuracy
