#include "busbar/program/passes.h"

#include <algorithm>

#include "busbar/base/check.h"
#include "busbar/base/id.h"

namespace busbar::program {

OpIndex::OpIndex(const Program& program) : program_(program) {
  std::uint32_t in_passes = 0;
  before_.reserve(program.uses.size());
  for (const PassUse& use : program.uses) {
    BUSBAR_CHECK(before_.empty() || use.first > program.uses[before_.size() - 1].first)
        << "uses of passes out of order";
    before_.push_back(in_passes);
    in_passes += static_cast<std::uint32_t>(program.passes[use.pass].ops.size());
  }
  count_ = in_passes + static_cast<std::uint32_t>(program.ops.size());
}

OpIndex::Place OpIndex::place(OpId op) const {
  const auto after = std::upper_bound(program_.uses.begin(), program_.uses.end(), op,
                                      [](OpId id, const PassUse& use) { return id < use.first; });
  if (after == program_.uses.begin()) return {kNoUse, index(op)};
  const auto u = static_cast<std::uint32_t>(after - program_.uses.begin()) - 1;
  const PassUse& use = program_.uses[u];
  const std::uint32_t at = index(op) - index(use.first);
  const auto size = static_cast<std::uint32_t>(program_.passes[use.pass].ops.size());
  if (at < size) return {u, at};
  return {kNoUse, index(op) - before_[u] - size};
}

OpIndex::Place OpIndex::place(OpId op, Place near) const {
  if (near.use == kNoUse) return place(op);
  const PassUse& use = program_.uses[near.use];
  const std::uint32_t at = index(op) - index(use.first);  // wraps round for an earlier one
  return at < program_.passes[use.pass].ops.size() ? Place{near.use, at} : place(op);
}

OpId OpIndex::id(Place p) const {
  if (p.use != kNoUse) return static_cast<OpId>(index(program_.uses[p.use].first) + p.at);
  // Finds the uses before it: those whose first operation comes after fewer operations of `ops`.
  std::uint32_t low = 0, high = static_cast<std::uint32_t>(before_.size());
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    if (index(program_.uses[middle].first) - before_[middle] <= p.at)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return static_cast<OpId>(p.at);
  const PassUse& use = program_.uses[low - 1];
  return static_cast<OpId>(p.at + before_[low - 1] + static_cast<std::uint32_t>(program_.passes[use.pass].ops.size()));
}

const Op& OpIndex::op(Place p) const {
  return p.use == kNoUse ? program_.ops[p.at] : program_.passes[program_.uses[p.use].pass].ops[p.at];
}

RoleId OpIndex::role(Place p) const { return p.use == kNoUse ? program_.ops[p.at].role : program_.uses[p.use].role; }

}  // namespace busbar::program
