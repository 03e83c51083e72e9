// The reader behind mscclpp_plan.h: mscclpp_plan.cc reads GPUs and channels, mscclpp_ops.cc turns operations into
// steps, mscclpp_waits.cc finds the predecessors of each step.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/formats/internal/mscclpp_plan.h"

namespace busbar::formats {

/// The action of an operation on the data that it reads.
enum class MscclppKind : std::uint8_t { kWait, kSignal, kSync, kMove, kReduce, kSwitchReduce, kSwitchStore, kPipeline };
struct MscclppOp {
  const char* name;
  MscclppKind kind;
  bool signals = false;                          ///< whether it also signals the receiver
  bool packets_in = false, packets_out = false;  ///< flags among the data show that it has arrived
};
/// Null if there is no such operation.
const MscclppOp* find_mscclpp_op(std::string_view name);

inline constexpr std::int64_t kMostMscclppChunks = 1 << 16, kMostMscclppParts = 64;

/// One end of a channel: rank, type, and number on that rank.
using MscclppEnd = std::tuple<std::uint32_t, std::string, std::uint32_t>;

struct MscclppSwitch {
  collectives::PlanBuffer buffer = collectives::PlanBuffer::kInput;
  std::vector<std::uint32_t> ranks;
};
struct MscclppRemote {
  std::uint32_t rank = 0;
  collectives::PlanBuffer buffer = collectives::PlanBuffer::kInput;
};
struct MscclppGpu {
  std::map<std::string, std::vector<std::uint32_t>> peers;  ///< per type of channel: the rank at the other end of each
  std::vector<MscclppSwitch> switches;
  std::vector<MscclppRemote> remote;
  std::vector<std::int64_t> semaphores;  ///< initial values
};

class MscclppReader {
 public:
  explicit MscclppReader(const std::string& name) { plan().file = name; }
  Result<MscclppPlan> read(const Json& root);

 private:
  struct Block {  ///< the current thread block
    std::uint32_t rank = 0, thread = 0;
    std::map<std::string, std::vector<std::uint32_t>> channels, buffers;  ///< by type: numbers on the GPU
  };
  struct SliceOf {
    std::vector<collectives::PlanSlice> places;  ///< one, or one per rank of a switch channel; in chunks
    std::int64_t size = 1;
  };

  collectives::ExecutionPlan& plan() { return out_.plan; }
  Error fail(const std::string& path, std::string what) const {
    return invalid(std::move(what), {out_.plan.file, 0, 0, path});
  }
  /// The values of a list; none if it is missing.
  Result<const std::vector<Json>*> list(const Json& j, const char* key, const std::string& path) const;
  Result<std::int64_t> integer(const Json& j, const char* key, std::int64_t otherwise, std::int64_t low,
                               std::int64_t high, const std::string& path) const;
  Result<std::string> word(const Json& j, const char* key, const std::string& path) const;
  Result<collectives::PlanBuffer> buffer(const Json& j, const char* key, const std::string& path) const;

  Status read_head(const Json& root);
  Status read_gpu(const Json& gpu, std::uint32_t rank, const std::string& path);
  Status read_channels(const Json& gpu, MscclppGpu& g, const std::string& path);
  Status find_parts(const std::vector<Json>& ops, const std::string& path, int depth);
  Status read_block(const Json& tb, std::uint32_t rank, const std::string& path);
  Status read_ops(const std::vector<Json>& ops, Block& b, const std::string& path, std::int64_t round);
  Status read_op(const Json& op, Block& b, const std::string& path, std::int64_t round);
  Status sync(const Json& op, const std::string& name, Block& b, const std::string& path);
  Result<std::vector<MscclppEnd>> ends(const Json& op, const Block& b, const std::string& path) const;
  Result<std::vector<SliceOf>> slices(const Json& op, const char* key, const Block& b, const std::string& path) const;
  Result<SliceOf> slice(const Json& j, const std::string& type, const Block& b, const std::string& path) const;
  Status add_move(const MscclppOp& name, const Json& op, const Block& b, const std::string& path, std::int64_t round);
  std::uint32_t step(const Block& b, std::uint32_t count, const std::vector<collectives::PlanSlice>& reads,
                     const std::vector<collectives::PlanSlice>& writes, bool in_switch);
  Status match_signals();
  Status match_semaphores();
  void match_barriers();
  void match_packets();
  Result<std::uint32_t> other_end(const MscclppEnd& e, const std::string& path) const;

  MscclppPlan out_;
  std::vector<MscclppGpu> gpus_;
  std::uint32_t parts_ = 1, rounds_ = 1;
  struct Used {
    std::vector<std::uint32_t> steps;
    std::uint32_t thread = 0;
    std::string path;
  };
  std::map<MscclppEnd, Used> signals_, waits_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Used> acquired_, released_;            ///< rank, semaphore
  std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<std::uint32_t>> barriers_;  ///< rank, id
  std::vector<bool> packets_in_, packets_out_;
  std::vector<std::vector<std::uint32_t>> after_;
  Status shared_;  ///< error: two thread blocks use one channel or semaphore
  void use(Used& u, const Block& b, std::uint32_t step, const std::string& path);
};

}  // namespace busbar::formats
