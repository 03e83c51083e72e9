#include "busbar/step/breakdown.h"

#include <algorithm>
#include <string_view>

#include "busbar/base/check.h"
#include "busbar/base/id.h"

namespace busbar::step {
namespace {

constexpr std::uint16_t kComputeStream = 0;

constexpr BreakdownPart kParts[] = {{"compute", &Breakdown::compute},       {"exposed_tp", &Breakdown::exposed_tp},
                                    {"exposed_dp", &Breakdown::exposed_dp}, {"exposed_pp", &Breakdown::exposed_pp},
                                    {"exposed_cp", &Breakdown::exposed_cp}, {"exposed_ep", &Breakdown::exposed_ep},
                                    {"bubble", &Breakdown::bubble},         {"optimizer", &Breakdown::optimizer},
                                    {"other", &Breakdown::other},           {"slowest_gpu", &Breakdown::slowest_gpu}};

constexpr const BreakdownPart& part_named(std::string_view name) {
  return *std::find_if(std::begin(kParts), std::end(kParts), [&](const BreakdownPart& p) { return name == p.name; });
}

/// `to` + (`b` - `a`)
void add_difference(Attribution& to, const Attribution& b, const Attribution& a) {
  for (const BreakdownPart& part : kParts) to.breakdown.*part.time += b.breakdown.*part.time - a.breakdown.*part.time;
  to.slowed += b.slowed - a.slowed;
  for (std::size_t c = 0; c < to.exposed.size(); ++c) to.exposed[c] += b.exposed[c] - a.exposed[c];
}

class Attributor {
 public:
  using Place = program::OpIndex::Place;
  Attributor(const program::Program& program, const program::OpIndex& ids, const ProgramRun& run, const Causes& causes)
      : program_(program), ids_(ids), run_(run), causes_(causes), of_pass_(program.passes.size()) {
    out_.exposed.resize(program.calls.size());
    out_.critical_time.resize(program.roles.size());
  }

  Attribution run() {
    const program::OpId last = causes_.last();
    find_critical_role(last);
    ids_.for_each_piece(
        [&](Place p) {
          const program::Op& op = program_.ops[p.at];
          if (op.role == out_.critical_role && op.stream == kComputeStream) account(p);
        },
        [&](std::uint32_t u) {
          if (program_.uses[u].role == out_.critical_role) account_use(u);
        });
    walk_back(idle_since_, SimTime::at(run_.length), last);
    BUSBAR_CHECK(out_.breakdown.total() == run_.length) << "the breakdown does not sum to the step";
    return std::move(out_);
  }

 private:
  /// The place in its pass where the chain of causes of `p` begins.
  Place beginning(Place p) {
    std::vector<std::uint32_t>& known = of_pass_[program_.uses[p.use].pass].beginning;
    known.resize(run_.shapes[program_.uses[p.use].pass].waits.size(), kUnknown);
    const std::uint32_t from = p.at;
    while (known[p.at] == kUnknown) {
      const program::OpId cause = causes_.of(p);
      if (cause == kNone<program::OpId>) break;
      const Place before = ids_.place(cause, p);
      if (before.use != p.use) break;
      p = before;
    }
    return {p.use, known[from] = known[p.at] == kUnknown ? p.at : known[p.at]};
  }

  void find_critical_role(program::OpId last) {
    Place p;
    for (program::OpId op = last; op != kNone<program::OpId>;) {
      p = ids_.place(op, p);
      const SimTime end = run_.at(program_, p).end;
      if (p.use != program::OpIndex::kNoUse && run_.uses[p.use].split == UseRun::kWhole) p = beginning(p);
      out_.critical_time[index(ids_.role(p))] += end - run_.at(program_, p).start;
      op = causes_.of(p);
    }
    if (last == kNone<program::OpId>) return;
    const auto most = std::max_element(out_.critical_time.begin(), out_.critical_time.end());
    out_.critical_role = static_cast<program::RoleId>(most - out_.critical_time.begin());
  }

  /// Accounts for the next operation of the critical compute stream and the gap before it.
  void account(Place p) {
    const OpRun r = run_.at(program_, p);
    if (r.start > idle_since_) walk_back(idle_since_, r.start, causes_.of(p));
    busy(ids_.op(p), r.end - r.start);
    idle_since_ = r.end;
  }

  /// Uses that run as one event differ only in the gap before their first operation.
  void account_use(std::uint32_t u) {
    const program::PassUse& use = program_.uses[u];
    const PassShape& shape = run_.shapes[use.pass];
    if (shape.streams.front() != kComputeStream) return;
    const auto row = shape.stream_ops.row(0);
    account({u, row.front()});
    const bool whole = run_.uses[u].split == UseRun::kWhole;
    OfPass& known = of_pass_[use.pass];
    if (whole && known.counted) {
      add_difference(out_, known.after, known.before);
      idle_since_ = run_.at(program_, {u, row.back()}).end;
      return;
    }
    if (whole) known.before = out_;
    for (std::size_t i = 1; i < row.size(); ++i) account({u, row[i]});
    if (whole) known.after = out_, known.counted = true;
  }

  void busy(const program::Op& op, Duration d) {
    out_.breakdown.*part_of_work(op).time += d;
    if (op.cls == program::OpClass::kCompute) out_.slowed += d - op.duration;
  }

  /// Explains [from, to): `cause` ended at `to`, the cause of `cause` ended where it started, and so on.
  void walk_back(SimTime from, SimTime to, program::OpId cause) {
    Place p;
    while (to > from && cause != kNone<program::OpId>) {
      p = ids_.place(cause, p);
      const OpRun r = run_.at(program_, p);
      BUSBAR_DCHECK(r.end == to) << "a hole in the chain of causes";
      const SimTime begin = std::max(r.start, from);
      const program::Op& op = ids_.op(p);
      const BreakdownPart& part = part_of_wait(op.cls, ids_.role(p) == out_.critical_role);
      out_.breakdown.*part.time += to - begin;
      if (op.kind == program::OpKind::kCollective && part.time != &Breakdown::bubble)
        out_.exposed[index(op.call)] += to - begin;
      to = begin;
      cause = causes_.of(p);
    }
    out_.breakdown.other += to - from;
  }

  static constexpr std::uint32_t kUnknown = 0xffff'ffffu;
  struct OfPass {
    std::vector<std::uint32_t> beginning;  ///< per operation: the cause at the beginning of the pass
    bool counted = false;
    Attribution before, after;  ///< the contribution of one use as one event, without its first operation
  };

  const program::Program& program_;
  const program::OpIndex& ids_;
  const ProgramRun& run_;
  const Causes& causes_;
  Attribution out_;
  std::vector<OfPass> of_pass_;
  SimTime idle_since_;
};

}  // namespace

std::span<const BreakdownPart> breakdown_parts() { return kParts; }

const BreakdownPart& part_of_wait(program::OpClass cls, bool own) {
  static constexpr const BreakdownPart &kTp = part_named("exposed_tp"), &kDp = part_named("exposed_dp"),
                                       &kPp = part_named("exposed_pp"), &kCp = part_named("exposed_cp"),
                                       &kEp = part_named("exposed_ep"), &kBubble = part_named("bubble"),
                                       &kOther = part_named("other");
  if (cls == program::OpClass::kPp) return kPp;
  if (!own) return kBubble;
  switch (cls) {
    case program::OpClass::kTp:
      return kTp;
    case program::OpClass::kDp:
      return kDp;
    case program::OpClass::kCp:
      return kCp;
    case program::OpClass::kEp:
      return kEp;
    default:
      return kOther;
  }
}

const BreakdownPart& part_of_work(const program::Op& op) {
  static constexpr const BreakdownPart &kCompute = part_named("compute"), &kOptimizer = part_named("optimizer"),
                                       &kOther = part_named("other");
  if (op.stream != kComputeStream) return part_of_wait(op.cls, true);
  if (op.cls == program::OpClass::kCompute) return kCompute;
  return op.cls == program::OpClass::kOptimizer ? kOptimizer : kOther;
}

std::vector<std::pair<std::string, Duration>> breakdown_rows(const Breakdown& b) {
  std::vector<std::pair<std::string, Duration>> out;
  for (const BreakdownPart& p : kParts) out.emplace_back(p.name, b.*p.time);
  return out;
}

Attribution attribute(const program::Program& program, const program::OpIndex& ids, const ProgramRun& run,
                      const Causes& causes) {
  return Attributor(program, ids, run, causes).run();
}

}  // namespace busbar::step
