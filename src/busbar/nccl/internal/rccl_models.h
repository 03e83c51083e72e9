// Machines for which RCCL has rings ready.
//
// Source: ROCm RCCL (develop, on NCCL 2.28.3, ROCm 7.11), src/graph/rome_models.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace busbar {

struct RcclModel {
  /// Of models that know about rails, base strings of which channel 8 k + j takes number (j + k) mod 8.
  struct Rails {
    std::string_view trees;              ///< channel 8 k + j takes number (j + 2 k) mod 8; "": trees are rings
    std::string_view last, before_last;  ///< rings of these nodes where the number of nodes is odd
  };
  struct Options {
    std::uint32_t times = 1;       ///< the rings stand in the table so often; with rails, rotated by one each time
    std::string_view near = "";    ///< per NIC, the GPUs from which it is no farther than PXB; "": not compared
    const Rails* rails = nullptr;
    int tuning = -1;               ///< row of the tables of costs; -1: that of the GPU
    bool ll128 = false;
    bool any_numa = false;         ///< NUMA nodes are not compared
    bool any_cpu = false;          ///< fits with processors that are not AMD's
  };
  int number = 0;
  std::uint32_t gpus = 0, numa = 0, nics = 0;
  std::uint32_t links = 0;    ///< most neighbours of a GPU
  std::string_view pattern;   ///< per NUMA node: '0' + GPUs, '0' + NICs
  std::string_view widths;    ///< a row per GPU: xGMI links to every other
  std::string_view rings;     ///< "entry NIC:GPUs in order:exit NIC", or only the GPUs; hexadecimal
  Options options = {};
};

/// In RCCL's order, which is that of its log's "model index".
std::span<const RcclModel> rccl_models();

}  // namespace busbar
