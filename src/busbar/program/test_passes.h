// A program for tests that compare what passes save with what they stand for.
#pragma once

#include <cstdint>

#include "busbar/program/passes.h"

namespace busbar::program {

/// The same program without passes: every operation with the same id, and the same dependencies in the same order.
inline Program expanded(const Program& program) {
  const OpIndex ids(program);
  Program out;
  out.roles = program.roles;
  out.labels = program.labels;
  out.calls = program.calls;
  out.ops.reserve(ids.count());
  out.deps.begin.reserve(ids.count() + 1);
  const auto add = [&](OpIndex::Place p, const Op& op) {
    out.ops.push_back(op);
    ids.for_each_dep(p, [&](OpId dep) { out.deps.values.push_back(dep); });
    out.deps.close_row();
  };
  ids.for_each_piece([&](OpIndex::Place p) { add(p, program.ops[p.at]); },
                     [&](std::uint32_t u) {
                       const PassUse& use = program.uses[u];
                       const Pass& pass = program.passes[use.pass];
                       for (std::uint32_t i = 0; i < pass.ops.size(); ++i) {
                         Op op = pass.ops[i];
                         op.role = use.role;
                         op.micro_batch = use.micro_batch;
                         add({u, i}, op);
                       }
                     });
  return out;
}

}  // namespace busbar::program
