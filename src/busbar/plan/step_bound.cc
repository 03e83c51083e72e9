#include "busbar/plan/step_bound.h"

#include <algorithm>
#include <queue>

#include "busbar/step/run_program.h"
#include "busbar/workload/build_program.h"

namespace busbar {
namespace {

/// Each call takes its floor, whatever else runs.
class FloorEngine final : public Engine {
 public:
  explicit FloorEngine(CallFloors& floors) : floors_(floors) {}
  Result<CallId> prepare(const CollectiveCall& call) override {
    times_.push_back(floors_.of(call));
    return static_cast<CallId>(times_.size() - 1);
  }
  Duration time_alone(CallId call) const override { return times_[static_cast<std::size_t>(call)]; }
  Bound bound_by(CallId) const override { return {}; }
  bool times_hold() const override { return true; }
  bool apart(CallId, CallId) override { return true; }
  void start(CallId call, std::uint64_t tag, SimTime at) override {
    ends_.push({at + time_alone(call), sequence_++, tag});
  }
  std::optional<Finished> advance(SimTime limit) override {
    if (ends_.empty() || ends_.top().at > limit) return std::nullopt;
    const End e = ends_.top();
    ends_.pop();
    return Finished{e.tag, e.at};
  }
  std::vector<double> link_bytes() const override { return {}; }

 private:
  struct End {
    SimTime at;
    std::uint64_t sequence, tag;
    bool operator>(const End& o) const { return at != o.at ? at > o.at : sequence > o.sequence; }
  };
  CallFloors& floors_;
  std::vector<Duration> times_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::uint64_t sequence_ = 0;
};

}  // namespace

Result<Duration> step_bound(const ModelSpec& model, const LayoutSpec& layout, const KernelTable& kernels,
                            CallFloors& floors) {
  BUSBAR_ASSIGN(const Program program, build_program(model, layout, kernels));
  FloorEngine engine(floors);
  BUSBAR_ASSIGN(const ProgramRun run, run_program(program, engine, Contention{}));
  return run.length;
}

}  // namespace busbar
