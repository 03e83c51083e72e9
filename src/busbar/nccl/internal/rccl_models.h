// Machines for which RCCL has predefined rings.
//
// Source: ROCm RCCL (develop, on NCCL 2.28.3, ROCm 7.11), src/graph/rome_models.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace busbar::nccl {

struct RcclModel {
  /// For models that know about rails: the base strings. Channel 8 k + j takes string (j + k) mod 8.
  struct Rails {
    std::string_view trees;              ///< channel 8 k + j takes string (j + 2 k) mod 8; "": trees are rings
    std::string_view last, before_last;  ///< rings of the last two nodes if the number of nodes is odd
  };
  struct Options {
    std::uint32_t times = 1;     ///< how often the table repeats the rings; with rails, rotated by one each time
    std::string_view near = "";  ///< per NIC, the GPUs at distance PXB or less; "": not compared
    const Rails* rails = nullptr;
    int tuning = -1;  ///< row of the cost tables; -1: the row of the GPU
    bool ll128 = false;
    bool any_numa = false;  ///< whether NUMA nodes are ignored
    bool any_cpu = false;   ///< whether it also matches with processors other than AMD's
  };
  int number = 0;
  std::uint32_t gpus = 0, numa = 0, nics = 0;
  std::uint32_t links = 0;   ///< largest number of neighbours of a GPU
  std::string_view pattern;  ///< per NUMA node: '0' + GPUs, '0' + NICs
  std::string_view widths;   ///< one row per GPU: the xGMI links to every other GPU
  std::string_view rings;    ///< "entry NIC:GPUs in order:exit NIC", or only the GPUs; hexadecimal
  Options options = {};
};

/// In RCCL's order: the index is the "model index" of its log.
std::span<const RcclModel> rccl_models();

}  // namespace busbar::nccl
