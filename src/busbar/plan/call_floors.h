// The least time of every call of a training step, in one pass over its ranks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "busbar/predict/predictor.h"

namespace busbar::plan {

/// Lower bounds of calls whose rank r runs on the machine's GPU r. MachineFloor (room floors) knows more cuts, but
/// takes each group as if it were alone; here all groups of a call share the ports of a server.
///
/// Bytes that must leave or enter a GPU, or all GPUs of a block (a server or rack), over the payload rate of all its
/// links, times the largest share of it that kernels reach; plus the launch. The demands are those of FloorDemand. For
/// groups of whole blocks, and groups that fill blocks, also the closed form of the schedule that the machine's library
/// would choose; for exchanges between pairs whose groups straddle blocks, what its bytes add to that of the group with
/// the fewest members in a block.
/// Other traffic only takes rate away, so the bound also holds under contention (docs/models/plan.md).
/// Cost: linear in the ranks of a call, once for each set of groups.
class CallFloors {
 public:
  /// The machine must outlive this object.
  explicit CallFloors(predict::Predictor& machine);
  Duration of(const program::CollectiveCall& call);
  /// The same for a call of sends, with its closed form where routes avoid no traffic. Costs its routing, once.
  Duration send(const program::CollectiveCall& call);
  Duration launch() const { return launch_; }
  bool registered() const { return registered_; }  ///< calls may run kernels for registered buffers
  predict::Predictor& machine() { return machine_; }
  /// The same for an all-gather, or a reduce-scatter, of `bytes` over n GPUs, wherever they are; for an all-reduce if
  /// not `scattered`. `neighbours`: GPUs n k to n k + n - 1 for some k. `whole`: next to other such groups, which fill
  /// blocks together.
  Duration gather(double bytes, std::uint32_t n, bool neighbours, bool scattered, bool whole);
  std::uint32_t block_gpus() const { return block_gpus_; }
  /// Whether calls of the first `ranks` ranks have the same floors as those of the next ones, and so on.
  bool repeats(std::uint32_t ranks) const {
    return equal_blocks_ && (ranks % block_gpus_ == 0 || block_gpus_ % ranks == 0);
  }

 private:
  struct Ports {
    double out = 0, in = 0;  ///< bytes per ps
  };
  double ps_per_byte(const program::CollectiveCall& call);
  double of_least_member(const program::CollectiveCall& call);
  double ps_of_one_more_byte(program::CollectiveCall call);
  double at_gpus(const program::CollectiveCall& call, bool inside) const;
  double at_blocks(const program::CollectiveCall& call) const;
  bool reaches_memory(const collectives::GroupFamily& groups) const;
  double copy_ps_per_byte(program::CollectiveCall call);
  bool fills_blocks(const collectives::GroupFamily& groups) const;
  bool fill_blocks_together(const collectives::GroupFamily& groups) const;
  Duration by_schedule(collectives::Collective op, Bytes bytes, std::uint32_t n);

  predict::Predictor& machine_;
  std::unique_ptr<engine::Engine> engine_;

  bool registered_ = false;
  Duration launch_;
  bool reduces_ = false;              ///< some switch can add payloads
  std::vector<std::uint32_t> block_;  ///< per rank; kNone32: none
  Ports gpu_, scale_up_;  ///< of the GPU with the fastest ports: all links; those to switches inside its block
  std::vector<Ports> blocks_;
  Ports fastest_block_;
  std::uint32_t block_gpus_ = 0;                         ///< of the largest block
  bool equal_blocks_ = true;                             ///< all have so many, and the same rates
  std::map<std::vector<std::uint32_t>, double> known_;   ///< ps per byte of S, by operation and groups
  std::map<std::vector<std::uint32_t>, double> copies_;  ///< the same of copies to and from host memory
  std::map<std::tuple<collectives::Collective, Bytes, std::uint32_t>, Duration> scheduled_;
  std::map<std::pair<std::vector<std::uint32_t>, Bytes>, Duration> sends_;
};

}  // namespace busbar::plan
