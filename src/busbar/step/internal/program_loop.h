// The event loop behind run_program().
//
// Invariants:
//  1. A stream runs its operations in program order, one at a time.
//  2. An operation starts exactly when the last of its dependencies and its predecessor ends, so the chain of causes
//     from any operation back to time 0 has no gaps (causes.h).
//  3. Events are ordered by (time, ends of collectives first, sequence number).
//  4. A pass is one event as long as its role runs no other collective that slows it, and no call in flight shares
//     links with its calls. Before such a call starts, the pass is split: its operations are placed where they would
//     be, and continue one by one. Once undisturbed again, what is left of it is one event from the next operation on
//     before which all others have ended or have yet to start. So passes as events change no operation's time.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "busbar/base/id.h"
#include "busbar/step/run_program.h"

namespace busbar::step {

class ProgramLoop {
 public:
  /// `calls`: per call of the program, the engine's call. `shapes`: per pass.
  ProgramLoop(const program::Program& program, engine::Engine& engine, const workload::Contention& contention,
              std::vector<program::CallId> calls, std::vector<PassShape> shapes);
  Result<ProgramRun> run();

 private:
  using Place = program::OpIndex::Place;
  static constexpr std::uint32_t kNoUse = program::OpIndex::kNoUse;
  static constexpr std::uint32_t kUseBit = 0x8000'0000u;
  /// Work of a delay is counted in thousandths of picoseconds, so that a share of 0.15 is exact.
  static constexpr std::int64_t kFullRate = 1000;

  struct Stream {
    std::vector<std::uint32_t> queue;  ///< in program order: indices in Program::ops, or kUseBit + use
    std::uint32_t next = 0;            ///< the first one not started
    std::uint32_t role = 0;
    bool busy = false;   ///< with `running`; its place is kNone32 in a pass that is one event
    bool delay = false;  ///< whether `running` is one
    Place running;
    // While a pass runs operation by operation:
    std::uint32_t split = kNoUse;  ///< the use
    std::span<const std::uint32_t> row;
    std::uint32_t cursor = 0;  ///< the first of `row` not started
    // While a delay runs:
    std::int64_t work_left = 0;  ///< ps x kFullRate
    SimTime since;               ///< the time at which work_left was exact
    std::uint32_t version = 0;   ///< invalidates older ends in the queue
  };
  enum class State : std::uint8_t { kWaiting, kWhole, kSplit, kDone };
  struct Use {
    State state = State::kWaiting;
    std::uint32_t missing = 0;  ///< one bit per outside dependency that has not ended
    std::uint32_t left = 0;     ///< while whole: one bit per stream of the pass that has ended
    std::uint32_t version = 0;  ///< invalidates older events
    std::uint32_t ended = 0;    ///< operations that ended one by one
    Duration cut;               ///< while whole: the operations that start later in the pass are the event
  };
  /// An operation, or an outside dependency of a use, that waits for operation `from` of its row.
  struct Target {
    std::uint32_t use, at;  ///< kNoUse: an index in Program::ops
    std::uint32_t from;     ///< in rows of uses: index in the pass
  };
  enum class Kind : std::uint8_t { kDelay, kWhole, kExit, kLeave };
  struct Event {
    SimTime at;
    std::uint64_t sequence = 0;
    std::uint32_t who = 0, version = 0;  ///< stream or use
    std::uint32_t target = 0;            ///< kExit: in use_targets_; kLeave: in the pass's streams
    Kind kind{};
    bool operator>(const Event& o) const { return at != o.at ? at > o.at : sequence > o.sequence; }
  };

  void set_up();
  void add_target(program::OpId source, Target target);
  void link_targets();
  bool step();
  bool outdated(const Event& e) const;
  void finish(Place op);
  void finish_whole(std::uint32_t use);
  void leave(std::uint32_t use, std::uint32_t k);
  void start_next(std::uint32_t stream);
  void begin(std::uint32_t stream, Place op);
  void consider(std::uint32_t use);
  bool may_start(std::uint32_t use, std::uint32_t op) const;
  bool is_undisturbed(std::uint32_t use);
  void begin_whole(std::uint32_t use, Duration cut);
  bool may_rejoin(std::uint32_t use, Duration cut);
  bool rejoin(std::uint32_t use, std::uint32_t op);
  void note_rejoined(std::uint32_t use);
  void split(std::uint32_t use);
  void split_running(std::uint32_t use);
  std::vector<OpRun>& open_split(std::uint32_t use);
  void resume(std::uint32_t use, std::uint32_t op, std::uint32_t stream);
  void meet(program::CallId call, std::uint32_t role, std::int64_t share);
  void split_whole_of(std::uint32_t role);
  bool pass_apart(program::CallId call, std::uint32_t pass);
  void satisfy(const Target& t);
  void wake(const Target& t);
  void start_streams(std::uint32_t use);
  void schedule_end(std::uint32_t stream);
  void change_rate(std::uint32_t role, std::int64_t by);
  void count_whole_runs();
  std::int64_t share(const program::Op& op) const;
  std::uint32_t stream_of(Place p) const { return role_begin_[index_of_role(p)] + ids_.op(p).stream; }
  std::uint32_t index_of_role(Place p) const { return static_cast<std::uint32_t>(ids_.role(p)); }
  std::uint32_t role_of_use(std::uint32_t use) const { return static_cast<std::uint32_t>(program_.uses[use].role); }
  const PassShape& shape(std::uint32_t use) const { return run_.shapes[program_.uses[use].pass]; }
  const program::Pass& pass(std::uint32_t use) const { return program_.passes[program_.uses[use].pass]; }
  static bool runs_delay(const Stream& s) { return s.busy && s.delay; }
  std::string stuck_message() const;

  const program::Program& program_;
  const program::OpIndex ids_;
  engine::Engine& engine_;
  const workload::Contention contention_;
  ProgramRun run_;
  std::vector<Stream> streams_;
  std::vector<std::uint32_t> role_begin_;  ///< roles + 1 offsets into streams_
  std::vector<std::int64_t> rate_;         ///< per role, thousandths
  std::vector<std::uint32_t> waiting_;     ///< per entry of Program::ops: number of dependencies not ended
  std::vector<Use> uses_;
  std::vector<std::vector<std::uint32_t>> split_waiting_;  ///< per split, per operation: dependencies not ended
  Csr<Target> op_targets_, use_targets_;
  std::vector<std::uint8_t> released_;            ///< per use_targets_ value
  std::vector<std::vector<std::uint8_t>> exits_;  ///< per pass and operation: whether any use has a target that waits
  std::vector<std::pair<std::uint32_t, Target>> op_pairs_, use_pairs_;
  std::vector<std::uint32_t> whole_;              ///< uses that are one event at present
  std::vector<program::CallId> in_flight_;        ///< calls started on the engine
  std::vector<std::vector<std::uint8_t>> apart_;  ///< per pass and call: 0 not computed yet, 1 apart, 2 not
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  SimTime now_;
  std::uint64_t sequence_ = 0, done_ = 0;
};

}  // namespace busbar::step
