// What NCCL runs where the user registered the buffers: kernels on symmetric memory, copy engines, NVLS with few CTAs.
//
// Registration is the user's act (ncclCommWindowRegister, ncclCommRegister), so nothing here is chosen by default.
// Source: NVIDIA NCCL 2.30.7, src/sym_kernels.cc, src/ce_coll.cc, src/enqueue.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "busbar/nccl/comm.h"
#include "busbar/nccl/registration.h"

namespace busbar::nccl {

enum class NcclKernelWay : std::uint8_t {
  kOneShot,  ///< every rank writes its whole buffer to every other, with flags among the data
  kFlags,    ///< every rank writes its pieces to the others, with flags among the data
  kDirect,   ///< every rank loads from the others and stores to them
  kSwitch,   ///< the same by the switches' multicast and reduction
  kCopies,   ///< copy engines
};

/// One kernel of NCCL's table. `name` is the one that NCCL_SYM_KERNEL and the log give it.
struct NcclSymmetricKernel {
  std::string_view name;
  collectives::Collective op{};
  NcclKernelWay way{};
  bool flags = false;      ///< LL: no barrier, below 2 GiB
  bool multicast = false;  ///< needs more than two ranks and switches that reduce
  bool tma = false;        ///< needs cc 100 and NCCL_SYM_TMA_ENABLE
};
/// The kernels inside one NVLink domain. Those over several (Rail...) are not modelled.
std::span<const NcclSymmetricKernel> symmetric_kernels();

struct NcclKernel {
  std::string_view name;  ///< "AllReduce_RSxLDMC_AGxSTMC", "Copy Engine"
  NcclKernelWay way{};
  std::uint32_t blocks = 0;  ///< CTAs; 0: none
  float forecast_us = 0;     ///< NCCL's own forecast; 0: it makes none
};

/// NCCL's forecast for a kernel of `blocks` CTAs and S = `bytes`, counted as nccl-tests does.
float symmetric_forecast_us(const NcclSymmetricKernel& kernel, const NcclComm& comm, std::uint64_t bytes,
                            std::uint32_t blocks);

/// The CTAs with which NCCL runs the kernel.
std::uint32_t symmetric_blocks(const NcclSymmetricKernel& kernel, const NcclComm& comm, std::uint64_t bytes);

/// The kernel for registered buffers that NCCL takes before it asks its cost table. Empty: none; `why_not` says why, if
/// buffers are registered. `takes_ll`: the table would take protocol LL.
std::optional<NcclKernel> choose_kernel(const NcclComm& comm, collectives::Collective op, Bytes bytes, bool takes_ll,
                                        std::string_view& why_not);

/// The most CTAs of a kernel over switches, with which it reaches its peak.
std::uint32_t multicast_blocks(std::uint32_t ranks, int compute_capability);

/// CTAs of NVLS with registered buffers.
std::uint32_t registered_nvls_channels(const NcclComm& comm, collectives::Collective op);

}  // namespace busbar::nccl
