// The layout of a step, in results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/workload/layout.h"

namespace busbar::questions {

struct CompressionResult {
  double bytes = 0;
  std::string exchange;
};
const Record& record_of(const CompressionResult*);

struct StragglerResult {
  double speed = 1;
  std::uint32_t stage = 0;
};
const Record& record_of(const StragglerResult*);

struct OffloadResult {
  bool optimizer = false, activations = false;
};
const Record& record_of(const OffloadResult*);

struct LayoutResult {
  std::uint32_t tp = 1, pp = 1, vpp = 1, dp = 1, cp = 1, ep = 1, expert_tp = 1;
  std::string expert_exchange;
  std::uint32_t seq = 0, micro_batch = 1, global_batch = 0;
  std::string global_batch_basis;
  std::uint32_t micro_batches = 1;
  std::string precision;
  std::uint32_t zero = 0;
  std::string recompute;
  bool sequence_parallel = false;
  std::uint32_t shard_ranks = 1;
  std::string schedule, context, attention, rank_order;
  std::vector<std::uint32_t> chunk_layers;
  CompressionResult compression;
  std::uint32_t secondary_shards = 0;
  StragglerResult straggler;
  std::optional<std::vector<double>> stage_speed;
  OffloadResult offload;
};
const Record& record_of(const LayoutResult*);

/// Pre: a resolved layout.
LayoutResult layout_result(const workload::LayoutSpec& layout);

}  // namespace busbar::questions
