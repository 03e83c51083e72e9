// How data get from rank to rank.
#pragma once

#include <cstdint>
#include <string>

#include "busbar/base/result.h"

namespace busbar::runtime {

enum class Transport : std::uint8_t {
  kThreads,
  kShm,  ///< processes that share memory
  kTcp,  ///< processes whose data go through sockets
  kUcx,  ///< through UCX; such processes still meet through sockets
  kOfi,  ///< through libfabric; likewise
};

const char* name_of(Transport transport);
/// Error: kInvalid lists the names.
Result<Transport> parse_transport(const std::string& name);

/// Whether ranks read and write each other's memory.
constexpr bool shares_memory(Transport t) { return t == Transport::kThreads || t == Transport::kShm; }

/// Error: kUnsupported, this busbar or this host does not have the library.
Status usable(Transport transport);

}  // namespace busbar::runtime
