#include "busbar/step/breakdown.h"

#include <algorithm>

#include "busbar/base/check.h"
#include "busbar/base/id.h"

namespace busbar {
namespace {

constexpr std::uint16_t kComputeStream = 0;

class Attributor {
 public:
  Attributor(const Program& program, const ProgramRun& run) : program_(program), run_(run) {
    out_.exposed.resize(program.calls.size());
    out_.critical_time.resize(program.roles.size());
  }

  Attribution run() {
    find_critical_role();
    SimTime idle_since;
    for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      if (op.role != out_.critical_role || op.stream != kComputeStream) continue;
      const OpRun& r = run_.ops[i];
      walk_back(idle_since, r.start, r.cause);
      busy(op, r.end - r.start);
      idle_since = r.end;
    }
    walk_back(idle_since, SimTime::at(run_.length), run_.last);
    BUSBAR_CHECK(out_.breakdown.total() == run_.length) << "the breakdown does not sum to the step";
    return std::move(out_);
  }

 private:
  void find_critical_role() {
    if (program_.ops.empty()) return;
    for (OpId op = run_.last; op != kNone<OpId>; op = run_.ops[index(op)].cause) {
      out_.critical_time[index(program_.ops[index(op)].role)] += run_.ops[index(op)].end - run_.ops[index(op)].start;
    }
    const auto most = std::max_element(out_.critical_time.begin(), out_.critical_time.end());
    out_.critical_role = static_cast<RoleId>(most - out_.critical_time.begin());
  }

  void busy(const Op& op, Duration d) {
    Breakdown& b = out_.breakdown;
    switch (op.cls) {
      case OpClass::kOptimizer:
        b.optimizer += d;
        break;
      case OpClass::kCompute:
        b.compute += d;
        out_.slowed += d - op.duration;
        break;
      default:
        b.other += d;
    }
  }

  /// Explains [from, to): `cause` ended at `to`, its own cause where it started, and so on.
  void walk_back(SimTime from, SimTime to, OpId cause) {
    while (to > from && cause != kNone<OpId>) {
      const OpRun& r = run_.ops[index(cause)];
      BUSBAR_DCHECK(r.end == to) << "a hole in the chain of causes";
      const SimTime begin = std::max(r.start, from);
      const Op& op = program_.ops[index(cause)];
      row(op) += to - begin;
      if (op.kind == OpKind::kCollective) out_.exposed[index(op.call)] += to - begin;
      to = begin;
      cause = r.cause;
    }
    out_.breakdown.other += to - from;
  }

  Duration& row(const Op& op) {
    Breakdown& b = out_.breakdown;
    if (op.cls == OpClass::kPp) return b.exposed_pp;
    if (op.cls == OpClass::kDp) return b.exposed_dp;
    if (op.role != out_.critical_role) return b.bubble;
    switch (op.cls) {
      case OpClass::kTp:
        return b.exposed_tp;
      case OpClass::kCp:
        return b.exposed_cp;
      case OpClass::kEp:
        return b.exposed_ep;
      default:
        return b.other;
    }
  }

  const Program& program_;
  const ProgramRun& run_;
  Attribution out_;
};

}  // namespace

Attribution attribute(const Program& program, const ProgramRun& run) { return Attributor(program, run).run(); }

}  // namespace busbar
