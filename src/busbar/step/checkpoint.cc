#include "busbar/step/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "busbar/base/check.h"
#include "busbar/base/id.h"
#include "busbar/engine/flow/flow_list_run.h"
#include "busbar/routing/path_view.h"

namespace busbar::step {
namespace {

struct SavingRank {
  topology::DeviceId gpu{};
  double bytes = 0;
};

enum class SavingWay : std::uint8_t { kSave, kLoad, kCopy, kWrite };  // kWrite: what kCopy has left in host memory

struct SavingRun {
  double seconds = 0;
  topology::LinkId held_by = kNone<topology::LinkId>;  ///< that the last flow waits for
  std::vector<engine::LinkUse> links;
};

/// The ranks of one server, and what they can write to.
class ServerRun {
 public:
  ServerRun(const routing::Router& router, const CheckpointPath& path, const std::vector<SavingRank>& writers)
      : router_(router), t_(router.topology()), path_(path), writers_(writers) {
    const topology::Block& block = t_.blocks()[index(t_.block_of(writers.front().gpu))];
    std::vector<topology::DeviceId> cabled;
    for (std::uint32_t p = 0; p < block.device_count; ++p) {
      const auto d = static_cast<topology::DeviceId>(block.first_device + p);
      if (path.drives && t_.kind(d) == topology::DeviceKind::kNvme) ends_.push_back(d);
      if (!path.drives && t_.kind(d) == topology::DeviceKind::kNic) (router.has_cable(d) ? cabled : ends_).push_back(d);
    }
    if (!path.drives && ends_.empty()) ends_ = cabled;
  }
  bool has_ends() const { return !ends_.empty(); }

  Result<SavingRun> run(SavingWay way) const {
    program::FlowList list;
    const auto add = [&](topology::DeviceId from, topology::DeviceId to, double bytes) {
      if (way == SavingWay::kLoad) std::swap(from, to);
      program::ListedFlow& flow = list.flows.emplace_back();
      flow.from = from;
      flow.to = to;
      flow.nic_from = flow.nic_to = kNone<topology::DeviceId>;
      flow.bytes = Bytes{static_cast<std::uint64_t>(bytes)};
      list.after.close_row();
    };
    for (const SavingRank& w : writers_) {
      const topology::DeviceId near = routing::nearest_memory(router_, w.gpu);
      const bool staged = near != kNone<topology::DeviceId> && (way == SavingWay::kCopy || !path_.direct);
      if (staged && way != SavingWay::kWrite) add(w.gpu, near, w.bytes);
      if (way == SavingWay::kCopy) continue;
      const topology::DeviceId from = staged ? near : w.gpu;
      const std::vector<topology::DeviceId> to = nearest(from, ends_);
      for (const topology::DeviceId d : to) add(from, d, w.bytes / static_cast<double>(to.size()));
    }
    BUSBAR_ASSIGN(engine::FlowListResult result, engine::run_flow_list(router_, list));
    SavingRun out{result.end.since_start().in_s(), kNone<topology::LinkId>, std::move(result.links)};
    Duration latest;
    for (const engine::FlowOutcome& f : result.flows)
      if ((f.start + f.fct).since_start() > latest) latest = (f.start + f.fct).since_start(), out.held_by = f.held_by;
    return out;
  }

 private:
  /// Those with the fewest links on the way.
  std::vector<topology::DeviceId> nearest(topology::DeviceId from, const std::vector<topology::DeviceId>& all) const {
    std::vector<topology::DeviceId> out;
    std::vector<routing::LinkShare> links;
    double fewest = INFINITY;
    for (const topology::DeviceId d : all) {
      links.clear();
      if (!router_.spread(from, d, kNone<topology::DeviceId>, kNone<topology::DeviceId>, 0, links).ok()) continue;
      double hops = 0;
      for (const routing::LinkShare& l : links) hops += l.share;
      if (hops < fewest - 0.5) fewest = hops, out.clear();
      if (hops < fewest + 0.5) out.push_back(d);
    }
    return out;
  }

  const routing::Router& router_;
  const topology::Topology& t_;
  const CheckpointPath& path_;
  const std::vector<SavingRank>& writers_;
  std::vector<topology::DeviceId> ends_;
};

}  // namespace

Result<CheckpointTimes> checkpoint_times(const routing::Router& router, std::span<const topology::DeviceId> gpus,
                                         std::span<const double> bytes, const CheckpointPath& path) {
  BUSBAR_CHECK(bytes.size() <= gpus.size()) << bytes.size() << " ranks on " << gpus.size() << " GPUs";
  const topology::Topology& t = router.topology();
  std::map<topology::BlockId, std::vector<SavingRank>> servers;
  for (std::size_t r = 0; r < bytes.size(); ++r) servers[t.block_of(gpus[r])].push_back({gpus[r], bytes[r]});
  using ServerKind =
      std::pair<topology::ShapeId, std::vector<std::pair<std::uint32_t, double>>>;  // GPUs by place in the server
  std::map<ServerKind, bool> done;
  CheckpointTimes out;
  for (const auto& [block, writers] : servers) {
    const topology::Block& b = t.blocks()[index(block)];
    ServerKind kind{b.shape, {}};
    for (const SavingRank& w : writers) kind.second.emplace_back(index(w.gpu) - b.first_device, w.bytes);
    if (!done.emplace(std::move(kind), true).second) continue;
    const ServerRun server(router, path, writers);
    if (!server.has_ends())
      return Error{ErrorCode::kUnsupported,
                   path.drives ? "the servers of this machine have no NVMe drives; write to storage instead"
                               : "the servers of this machine have no NICs to reach storage; write to nvme instead",
                   {}};
    const auto take = [&](SavingWay way, double& seconds, std::string& link) -> Status {
      BUSBAR_ASSIGN(const SavingRun run, server.run(way));
      if (run.seconds <= seconds) return {};
      seconds = run.seconds;
      link = run.held_by == kNone<topology::LinkId> ? "" : t.name(run.held_by);
      return {};
    };
    BUSBAR_RETURN_IF_ERROR(take(SavingWay::kSave, out.save_s, out.save_link));
    BUSBAR_RETURN_IF_ERROR(take(SavingWay::kLoad, out.load_s, out.load_link));
    BUSBAR_RETURN_IF_ERROR(take(SavingWay::kCopy, out.copy_s, out.copy_link));
    BUSBAR_ASSIGN(const SavingRun write, server.run(SavingWay::kWrite));
    out.written.insert(out.written.end(), write.links.begin(), write.links.end());
  }
  return out;
}

}  // namespace busbar::step
