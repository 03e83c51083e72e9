#include "busbar/step/causes.h"

#include "busbar/base/check.h"
#include "busbar/base/id.h"

namespace busbar::step {

Causes::Causes(const program::Program& program, const program::OpIndex& ids, const ProgramRun& run)
    : program_(program), ids_(ids), run_(run) {
  for (const PassShape& shape : run.shapes) {
    std::vector<std::uint32_t>& before = before_in_.emplace_back(shape.waits.size());
    for (std::uint32_t s = 0; s < shape.streams.size(); ++s) {
      std::uint32_t last = kFirst + s;
      for (const std::uint32_t op : shape.stream_ops.row(s)) before[op] = std::exchange(last, op);
    }
  }
  std::vector<std::uint32_t> first;  // per role: index of its first stream
  std::uint32_t streams = 0;
  for (const program::Role& role : program.roles) {
    first.push_back(streams);
    streams += static_cast<std::uint32_t>(role.streams.size());
  }
  std::vector<program::OpId> last(streams, kNone<program::OpId>);
  use_begin_.push_back(0);
  before_op_.reserve(program.ops.size());
  std::uint32_t next = 0;  // id
  ids.for_each_piece(
      [&](program::OpIndex::Place p) {
        const program::Op& op = program.ops[p.at];
        before_op_.push_back(
            std::exchange(last[first[index(op.role)] + op.stream], static_cast<program::OpId>(next++)));
      },
      [&](std::uint32_t u) {
        const program::PassUse& use = program.uses[u];
        const PassShape& shape = run.shapes[use.pass];
        for (std::uint32_t s = 0; s < shape.streams.size(); ++s)
          before_use_.push_back(
              std::exchange(last[first[index(use.role)] + shape.streams[s]],
                            static_cast<program::OpId>(index(use.first) + shape.stream_ops.row(s).back())));
        use_begin_.push_back(static_cast<std::uint32_t>(before_use_.size()));
        next += static_cast<std::uint32_t>(shape.waits.size());
      });
}

program::OpId Causes::predecessor(program::OpIndex::Place p) const {
  if (p.use == program::OpIndex::kNoUse) return before_op_[p.at];
  const std::uint32_t before = before_in_[program_.uses[p.use].pass][p.at];
  if (before & kFirst) return before_use_[use_begin_[p.use] + (before & ~kFirst)];
  return ids_.id({p.use, before});
}

program::OpId Causes::of(program::OpIndex::Place p) const {
  const SimTime start = run_.at(program_, p).start;
  program::OpId best = kNone<program::OpId>;
  bool delay = false;
  const auto look = [&](program::OpId op) {
    if (op == kNone<program::OpId> || delay) return;
    const program::OpIndex::Place at = ids_.place(op, p);
    if (run_.at(program_, at).end != start) return;
    delay = ids_.op(at).kind == program::OpKind::kDelay;
    if (delay || best == kNone<program::OpId>) best = op;
  };
  look(predecessor(p));
  ids_.for_each_dep(p, look);
  BUSBAR_DCHECK(best != kNone<program::OpId> || start == SimTime()) << "an operation started without a cause";
  return best;
}

program::OpId Causes::last() const {
  program::OpId best = kNone<program::OpId>;
  bool delay = false;
  const SimTime end = SimTime::at(run_.length);
  const auto look = [&](program::OpIndex::Place p) {
    if (run_.at(program_, p).end != end) return;
    const bool is_delay = ids_.op(p).kind == program::OpKind::kDelay;
    if (delay && !is_delay) return;
    delay = is_delay;
    best = ids_.id(p);
  };
  ids_.for_each_piece(look, [&](std::uint32_t u) {
    const PassShape& shape = run_.shapes[program_.uses[u].pass];
    if (run_.uses[u].split == UseRun::kWhole && run_.uses[u].begin + shape.length != end) return;
    for (std::uint32_t i = 0; i < shape.waits.size(); ++i) look({u, i});
  });
  return best;
}

}  // namespace busbar::step
