#include "busbar/step/pass_shape.h"

#include <algorithm>
#include <numeric>

#include "busbar/base/id.h"

namespace busbar::step {
namespace {

/// The rows of `to` grouped by `from`, for pairs in any order.
Csr<std::uint32_t> rows_of(std::uint32_t rows, std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs) {
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Csr<std::uint32_t> out;
  for (std::size_t r = 0, i = 0; r < rows; ++r) {
    for (; i < pairs.size() && pairs[i].first == r; ++i) out.values.push_back(pairs[i].second);
    out.close_row();
  }
  return out;
}

/// Whether calls on different streams of the pass share no link.
bool streams_are_apart(const program::Pass& pass, const PassShape& shape, const std::vector<program::CallId>& calls,
                       engine::Engine& engine) {
  for (const std::uint32_t a : shape.collectives)
    for (const std::uint32_t b : shape.collectives) {
      if (b >= a || pass.ops[a].stream == pass.ops[b].stream) continue;
      if (!engine.apart(calls[index(pass.ops[a].call)], calls[index(pass.ops[b].call)])) return false;
    }
  return true;
}

}  // namespace

PassShape shape_of(const program::Pass& pass, std::uint32_t outside, const std::vector<program::CallId>& calls,
                   engine::Engine& engine) {
  PassShape shape;
  const auto n = static_cast<std::uint32_t>(pass.ops.size());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> inside, from_outside, by_stream;
  for (const program::Op& op : pass.ops) shape.streams.push_back(op.stream);
  std::sort(shape.streams.begin(), shape.streams.end());
  shape.streams.erase(std::unique(shape.streams.begin(), shape.streams.end()), shape.streams.end());
  for (std::uint32_t i = 0; i < n; ++i) {
    const program::Op& op = pass.ops[i];
    const auto place = std::lower_bound(shape.streams.begin(), shape.streams.end(), op.stream) - shape.streams.begin();
    by_stream.emplace_back(static_cast<std::uint32_t>(place), i);
    std::uint32_t waits = 0;
    for (const program::OpId dep : pass.deps.row(i)) {
      if (index(dep) & program::Pass::kOutside) {
        from_outside.emplace_back(index(dep) & ~program::Pass::kOutside, i);
      } else {
        inside.emplace_back(index(dep), i);
        ++waits;
      }
    }
    shape.waits.push_back(waits);
    if (op.kind != program::OpKind::kCollective) continue;
    shape.collectives.push_back(i);
    const program::CallId call = calls[index(op.call)];
    if (std::find(shape.calls.begin(), shape.calls.end(), call) == shape.calls.end()) shape.calls.push_back(call);
  }
  shape.stream_ops = rows_of(static_cast<std::uint32_t>(shape.streams.size()), std::move(by_stream));
  shape.successors = rows_of(n, std::move(inside));
  shape.after_outside = rows_of(outside, std::move(from_outside));
  shape.whole = engine.times_hold() && shape.streams.size() <= 32 && streams_are_apart(pass, shape, calls, engine);
  return shape;
}

std::vector<std::uint32_t> rest_of(const std::vector<OpRun>& ops) {
  const auto n = static_cast<std::uint32_t>(ops.size());
  std::vector<std::uint32_t> order(n), rest(n, 0);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return ops[i].start; });
  SimTime busy;  // until when those that start earlier last
  for (std::uint32_t first = 0, end = 0; first < n; first = end) {
    const SimTime start = ops[order[first]].start;
    while (end < n && ops[order[end]].start == start) ++end;
    for (std::uint32_t i = first; i < end && busy <= start; ++i) rest[order[i]] = n - first;
    for (std::uint32_t i = first; i < end; ++i) busy = std::max(busy, ops[order[i]].end);
  }
  return rest;
}

program::Program alone(const program::Pass& pass, const program::Role& role) {
  program::Program out;
  out.roles = {role};
  out.ops = pass.ops;
  for (std::uint32_t i = 0; i < pass.ops.size(); ++i) {
    for (const program::OpId dep : pass.deps.row(i))
      if ((index(dep) & program::Pass::kOutside) == 0) out.deps.values.push_back(dep);
    out.deps.close_row();
  }
  return out;
}

std::optional<engine::Finished> SeparateCalls::advance(SimTime limit) {
  const auto first = std::min_element(pending_.begin(), pending_.end(),
                                      [](const engine::Finished& a, const engine::Finished& b) { return a.at < b.at; });
  if (first == pending_.end() || first->at > limit) return std::nullopt;
  const engine::Finished done = *first;
  pending_.erase(first);
  return done;
}

}  // namespace busbar::step
