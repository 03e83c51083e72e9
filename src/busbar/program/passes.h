// Access to the single operations of a program with passes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "busbar/program/program.h"

namespace busbar::program {

/// The operation of an id. Precondition of all functions: the program outlives this object and does not change.
class OpIndex {
 public:
  static constexpr std::uint32_t kNoUse = 0xffff'ffffu;
  struct Place {
    std::uint32_t use = kNoUse;  ///< of Program::uses
    std::uint32_t at = 0;        ///< in Program::ops, or in the pass
  };
  explicit OpIndex(const Program& program);
  std::uint32_t count() const { return count_; }
  /// Cost: O(log uses).
  Place place(OpId op) const;
  /// The same, at once if both are in one use of a pass.
  Place place(OpId op, Place near) const;
  OpId id(Place place) const;
  const Op& op(Place place) const;
  RoleId role(Place place) const;
  /// Calls f(dep) for every operation that this one waits for, in the order listed.
  template <typename F>
  void for_each_dep(Place place, F f) const;
  /// Calls f(Place) for a place of Program::ops and g(use) for each use, in order of ids.
  template <typename F, typename G>
  void for_each_piece(F f, G g) const;

 private:
  const Program& program_;
  std::vector<std::uint32_t> before_;  ///< per use: operations in passes before it
  std::uint32_t count_ = 0;
};

template <typename F>
void OpIndex::for_each_dep(Place p, F f) const {
  if (p.use == kNoUse) {
    for (const OpId dep : program_.deps.row(p.at)) f(dep);
    return;
  }
  const PassUse& use = program_.uses[p.use];
  for (const OpId dep : program_.passes[use.pass].deps.row(p.at)) {
    const auto d = static_cast<std::uint32_t>(dep);
    if (d & Pass::kOutside)
      f(program_.outside.row(p.use)[d & ~Pass::kOutside]);
    else
      f(static_cast<OpId>(static_cast<std::uint32_t>(use.first) + d));
  }
}

template <typename F, typename G>
void OpIndex::for_each_piece(F f, G g) const {
  std::uint32_t op = 0;
  for (std::uint32_t u = 0; u < program_.uses.size(); ++u) {
    const std::uint32_t end = static_cast<std::uint32_t>(program_.uses[u].first) - before_[u];
    for (; op < end; ++op) f(Place{kNoUse, op});
    g(u);
  }
  for (; op < program_.ops.size(); ++op) f(Place{kNoUse, op});
}

}  // namespace busbar::program
