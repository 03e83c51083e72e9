// RDMA devices of this host, by rdma-core's library.
#pragma once

#include <string>

namespace busbar::host {

/// Lines as `ibv_devinfo` prints them: per device and port the largest and the current MTU, which /sys does not show.
/// Empty if the library is not there, or if this user must not open the devices.
std::string read_verbs(const char* library = "libibverbs.so.1");

}  // namespace busbar::host
