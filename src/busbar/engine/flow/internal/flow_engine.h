// The flow engine: calls in progress share links max-min fairly, event by event (DESIGN 4.3).
//
// Invariants:
//  1. A run is one started call. It is in its launch, or in exactly one stage.
//  2. A run that shares no link with another is not solved: its stage ends at the time known from prepare().
//  3. Runs whose stages share a link, directly or through others, form a sharing group. Their fluids are solved
//     together at every start and end in the group, and only then. A run that has joined one keeps its fluids, as
//     SharedStages has them, until its stage ends.
//  4. Events are ordered by (time, sequence of the run), so equal inputs give equal bits. Within a sharing group runs
//     are ordered by call: rates do not depend on which of two calls started first at the same time.
//  5. The rates of a sharing group are kept, because training steps repeat themselves.
//  6. Where Lowering::splits() holds, a sharing group is split again at each start and end of a stage in it. A run
//     alone keeps its own split. Runs that share links only because of a split belong to the sharing group too.
#pragma once

#include <map>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "busbar/engine/flow/internal/kept_rates.h"
#include "busbar/engine/flow/internal/shared_stages.h"
#include "busbar/engine/prepared.h"

namespace busbar::engine {

class FlowEngine final : public Engine {
 public:
  FlowEngine(const routing::Router& router, const routing::Placement& placement, const EngineOptions& options);
  Result<program::CallId> prepare(const program::CollectiveCall& call) override;
  bool alike(const program::CollectiveCall& a, const program::CollectiveCall& b) override { return calls_.alike(a, b); }
  Shortcuts shortcuts() const override { return calls_.shortcuts(); }
  const program::ProtocolModel* protocol() const override { return &calls_.lowering().protocol(); }
  Duration time_alone(program::CallId call) const override { return known_[index(call)].alone; }
  Duration least_time(const program::CollectiveCall& call) override { return calls_.least_time(call); }
  lowering::Bound bound_by(program::CallId call) const override { return calls_.bound_by(call); }
  const lowering::LoweredCall* lowered(program::CallId call) const override { return &calls_.lowered(call); }
  bool times_hold() const override { return calls_.shortcuts().has(Shortcut::kRunsAlone); }
  bool apart(program::CallId a, program::CallId b) override;
  void start(program::CallId call, std::uint64_t tag, SimTime at) override;
  void count_runs(program::CallId call, std::uint64_t times) override {
    known_[index(call)].starts += static_cast<double>(times);
  }
  std::optional<Finished> advance(SimTime limit) override;
  Status status() const override { return calls_.interrupted() ? Status(interrupted()) : Status(); }
  std::vector<double> link_bytes() const override;
  void add_bytes_of(program::CallId call, std::vector<double>& bytes) const override {
    calls_.add_link_bytes(call, 1, bytes);
  }

 private:
  struct Known {
    Duration alone;
    std::vector<double> stage_ps;
    std::vector<std::uint32_t> stage_id;  ///< number among all stages ever prepared
    double starts = 0;
  };
  /// A stage as its sharing group splits it.
  struct Split {
    lowering::Stage stage;
    std::uint32_t stage_id;
  };
  struct Run {
    program::CallId call{};
    std::uint64_t tag = 0, sequence = 0;
    std::uint32_t stage = 0;
    std::uint32_t stage_id = 0;  ///< of the stage it is in, as lowered
    bool active = false, in_stage = false, shared = false;
    bool grouped = false;            ///< in the sharing group that grow_group() collects
    SimTime origin;                  ///< times are origin + offset_ps, so that roundings do not add up
    double offset_ps = 0;            ///< end of what is under way, while not shared
    SimTime began;                   ///< of the stage
    SimTime updated;                 ///< `left` is as of then
    std::vector<double> left, rate;  ///< per fluid of the stage, while shared
    const Split* split = nullptr;    ///< null: as lowered
    std::uint32_t generation = 0;    ///< events of older generations are void
  };
  struct Event {
    SimTime at;
    std::uint64_t sequence;
    std::uint32_t run, generation;
    bool operator>(const Event& o) const { return at != o.at ? at > o.at : sequence > o.sequence; }
  };

  const lowering::Stage& own_stage(const Run& run) const { return calls_.lowered(run.call).stages[run.stage]; }
  const lowering::Stage& stage_of(const Run& run) {
    return run.split ? run.split->stage : shared_.of(own_stage_id(run));
  }
  struct Word;
  std::vector<Word> words_of(const lowering::Stage& stage);
  std::uint32_t own_stage_id(const Run& run) const { return known_[index(run.call)].stage_id[run.stage]; }
  std::uint32_t stage_id(const Run& run) const { return run.split ? run.split->stage_id : run.stage_id; }
  /// `stays`: whether the stage outlives the engine's use of it where it is.
  std::uint32_t number_stage(const lowering::Stage& stage, bool stays);
  const std::vector<Word>& links_of(std::uint32_t stage_id);
  bool contend(std::uint32_t i, std::uint32_t j) {
    if (i < j) std::swap(i, j);
    const bool known = i < contend_.size() && j < contend_[i].size() && contend_[i][j] != Contention::kUnknown;
    return known ? contend_[i][j] == Contention::kYes : find_contention(i, j);
  }
  bool find_contention(std::uint32_t i, std::uint32_t j);
  bool share_a_link(std::uint32_t i, std::uint32_t j);
  void schedule(std::uint32_t run, SimTime at);
  void begin_stage(std::uint32_t run, SimTime at);
  /// Ends the current stage; true if the call has ended with it.
  bool end_stage(std::uint32_t run, SimTime at);
  void settle();
  void find_group(std::uint32_t run);
  void grow_group();
  void share(Run& run, SimTime at);
  void progress(Run& run, SimTime at);
  void count_split(const Run& run, double elapsed_ps);
  void solve_group(SimTime at);
  void bring_up(SimTime at);
  void split_group(SimTime at);
  const std::vector<Split>& splits_of_group();
  std::span<const double> group_rates();
  std::span<const double> solve_rates();

  PreparedCalls calls_;
  std::vector<Known> known_;
  /// 64 links in a row, and which of them a stage loads.
  struct Word {
    std::uint32_t at;
    std::uint64_t bits;
  };
  std::vector<std::vector<Word>> stage_links_;   ///< per stage id, ascending; empty until it is asked for
  std::vector<const lowering::Stage*> unasked_;  ///< per stage id; null once its links are known
  enum class Contention : std::uint8_t { kUnknown, kNo, kYes };
  std::vector<std::vector<Contention>> contend_;  ///< by the larger and the smaller stage id; rows grow when asked
  std::vector<std::uint64_t> word_;               ///< work space, zero
  SharedStages shared_;
  KeptRates kept_rates_;
  std::map<std::vector<std::uint64_t>, std::vector<Split>> splits_;  ///< by stages of a sharing group; empty: their own
  std::vector<double> moved_;                                        ///< bytes per link beyond those of own splits
  std::vector<Run> runs_;
  std::vector<std::uint32_t> free_, in_stage_, group_;
  std::vector<std::uint32_t> unsolved_;  ///< runs whose stage began at unsolved_at_ and is not yet set going
  SimTime unsolved_at_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t sequence_ = 0, unkept_splits_ = 0;
};

}  // namespace busbar::engine
