#include "busbar/plan/internal/longest_path.h"

#include <algorithm>

#include "busbar/base/check.h"
#include "busbar/base/csr.h"
#include "busbar/base/id.h"
#include "busbar/program/passes.h"

namespace busbar::plan {
namespace {

/// The operations of all streams, each by its id.
struct Rows {
  std::vector<std::vector<std::uint32_t>> streams;  ///< in program order
  std::vector<std::int64_t> ps;                     ///< how long each operation takes
  Csr<std::uint32_t> deps;
};

Rows rows_of(const program::Program& program, std::span<const Duration> calls) {
  Rows out;
  std::vector<std::size_t> first;  // stream of each role
  std::size_t streams = 0;
  for (const program::Role& role : program.roles) {
    first.push_back(streams);
    streams += role.streams.size();
  }
  out.streams.resize(streams);
  const program::OpIndex ids(program);
  out.ps.reserve(ids.count());
  const auto add = [&](program::OpIndex::Place p, const program::Op& op, program::RoleId role) {
    out.streams[first[index(role)] + op.stream].push_back(static_cast<std::uint32_t>(out.ps.size()));
    out.ps.push_back((op.kind == program::OpKind::kDelay ? op.duration : calls[index(op.call)]).in_ps());
    ids.for_each_dep(p, [&](program::OpId dep) { out.deps.values.push_back(index(dep)); });
    out.deps.close_row();
  };
  ids.for_each_piece([&](program::OpIndex::Place p) { add(p, program.ops[p.at], program.ops[p.at].role); },
                     [&](std::uint32_t u) {
                       const std::vector<program::Op>& ops = program.passes[program.uses[u].pass].ops;
                       for (std::uint32_t i = 0; i < ops.size(); ++i) add({u, i}, ops[i], program.uses[u].role);
                     });
  return out;
}

}  // namespace

Duration longest_path(const program::Program& program, std::span<const Duration> calls) {
  const Rows rows = rows_of(program, calls);
  constexpr std::int64_t kOpen = -1;
  std::vector<std::int64_t> end(rows.ps.size(), kOpen), free_at(rows.streams.size(), 0);
  std::vector<std::uint32_t> next(rows.streams.size(), 0), ready(rows.streams.size());
  // Streams that wait for an operation, as lists.
  std::vector<std::uint32_t> waiter(rows.ps.size(), kNone32), after(rows.streams.size(), kNone32);
  for (std::uint32_t s = 0; s < ready.size(); ++s) ready[s] = s;
  std::size_t done = 0;
  while (!ready.empty()) {
    const std::uint32_t s = ready.back();
    ready.pop_back();
    for (; next[s] < rows.streams[s].size(); ++next[s], ++done) {
      const std::uint32_t op = rows.streams[s][next[s]];
      const auto deps = rows.deps.row(op);
      const auto open = std::find_if(deps.begin(), deps.end(), [&](std::uint32_t d) { return end[d] == kOpen; });
      if (open != deps.end()) {
        after[s] = waiter[*open];
        waiter[*open] = s;
        break;
      }
      for (const std::uint32_t d : deps) free_at[s] = std::max(free_at[s], end[d]);
      end[op] = free_at[s] += rows.ps[op];
      for (std::uint32_t w = waiter[op]; w != kNone32; w = after[w]) ready.push_back(w);
    }
  }
  BUSBAR_CHECK(done == rows.ps.size()) << "operations wait for each other in a circle";
  return Duration::ps(free_at.empty() ? 0 : *std::max_element(free_at.begin(), free_at.end()));
}

}  // namespace busbar::plan
