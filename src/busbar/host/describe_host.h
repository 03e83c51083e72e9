// What a host says about itself, as text that the tables of catalog/evidence read.
#pragma once

#include <string>

#include "busbar/host/host_files.h"

namespace busbar::host {

/// Lines "PATH:VALUE", as `grep -H .` prints them, of the files that matter to GPUs and NICs; lines of `lspci -vvv`
/// of `ibv_devinfo` and of `nvidia-smi -q` for what only root or a library can read; and lines "host ..." about what is
/// absent or follows from several files. Reads only, needs no root. Of the environment only variables of NCCL, RCCL,
/// PyTorch, UCX, libfabric and CUDA are shown. Limits: of another host (files below a folder) without libraries, so
/// without NVLinks, xGMI, clocks, MTUs of RDMA ports and fabric manager.
std::string describe_host(const HostFiles& files);

}  // namespace busbar::host
