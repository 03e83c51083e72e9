#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "busbar/collectives/builders.h"
#include "busbar/collectives/legality.h"

namespace busbar {
namespace {

using enum Collective;

struct Entry {
  std::string_view name;
  std::array<Collective, 5> ops;  ///< padded with the first
  Result<Schedule> (*build)(Collective op, std::uint32_t ranks, std::uint32_t per_group, std::uint32_t root);
};

Result<Schedule> ring(Collective op, std::uint32_t ranks, std::uint32_t, std::uint32_t root) {
  return build_ring(op, ranks, root);
}

Result<Schedule> tree(Collective op, std::uint32_t ranks, std::uint32_t, std::uint32_t root) {
  return build_tree(op, ranks, root);
}

Result<Schedule> hierarchical(Collective op, std::uint32_t ranks, std::uint32_t per_group, std::uint32_t root) {
  if (per_group == 0 || ranks % per_group != 0)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("hierarchical needs equal groups, and {} ranks do not divide into groups of {}; choose "
                             "another number of ranks or algorithm ring",
                             ranks, per_group),
                 {}};
  return build_hierarchical(op, ranks / per_group, per_group, root);
}

Result<Schedule> direct(Collective, std::uint32_t ranks, std::uint32_t, std::uint32_t root) {
  if (ranks != 2 || root != 0)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("send_recv joins two ranks, 0 to 1, not {} with root {}", ranks, root), {}};
  return build_send_recv();
}

constexpr std::array<Entry, 4> kEntries{{
    {"ring", {kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce}, &ring},
    {"tree", {kAllReduce, kBroadcast, kAllReduce, kAllReduce, kAllReduce}, &tree},
    {"hierarchical", {kAllReduce, kAllGather, kReduceScatter, kBroadcast, kAllReduce}, &hierarchical},
    {"direct", {kSendRecv, kSendRecv, kSendRecv, kSendRecv, kSendRecv}, &direct},
}};

bool builds(const Entry& e, Collective op) { return std::find(e.ops.begin(), e.ops.end(), op) != e.ops.end(); }

std::string names_that_build(Collective op) {
  std::string out;
  for (const Entry& e : kEntries)
    if (builds(e, op)) out += (out.empty() ? "" : ", ") + std::string(e.name);
  return out;
}

}  // namespace

Error too_many_ranks(std::uint64_t ranks) {
  return invalid(fmt::format("{} ranks are too many: a schedule holds fewer than {}", ranks, kMaxRanks));
}

Status check_ranks(std::uint32_t ranks, std::uint32_t root) {
  if (ranks == 0) return invalid("a collective needs at least one rank");
  if (ranks >= kMaxRanks) return too_many_ranks(ranks);
  if (root >= ranks) return invalid(fmt::format("root {} is not one of the ranks 0 to {}", root, ranks - 1));
  return {};
}

Error not_built(std::string_view algorithm, Collective op) {
  const std::string legal = names_that_build(op);
  std::string why = fmt::format("algorithm {} has no schedule for {}; ", algorithm, name_of(op));
  why += legal.empty() ? fmt::format("no algorithm has one for {} yet", name_of(op)) : "legal: " + legal;
  return Error{ErrorCode::kUnsupported, why, {}};
}

Result<Schedule> build_schedule(std::string_view algorithm, Collective op, std::uint32_t ranks,
                                std::uint32_t ranks_per_group, std::uint32_t root) {
  BUSBAR_RETURN_IF_ERROR(check_ranks(ranks, root));
  for (const Entry& e : kEntries) {
    if (e.name != algorithm) continue;
    return builds(e, op) ? e.build(op, ranks, ranks_per_group, root) : Result<Schedule>(not_built(algorithm, op));
  }
  std::string shown(algorithm.substr(0, 64));
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';  // the message goes to terminals
  return not_built("'" + shown + "'", op);
}

std::vector<std::string> algorithms_for(Collective op, std::uint32_t ranks, std::uint32_t ranks_per_group) {
  std::vector<std::string> out;
  for (const Entry& e : kEntries) {
    if (!builds(e, op)) continue;
    const bool two_levels = ranks_per_group > 1 && ranks_per_group < ranks && ranks % ranks_per_group == 0;
    if (e.name == "hierarchical" && !two_levels) continue;
    if (e.name == "direct" && ranks != 2) continue;
    out.emplace_back(e.name);
  }
  return out;
}

Schedule build_send_recv() {
  Schedule s;
  s.algorithm = "direct";
  s.op = kSendRecv;
  s.ranks = 2;
  s.chunks = 1;
  s.families = {one_group(2)};
  s.phases = {Phase{.pattern = Pattern::kChainBroadcast}};
  return s;
}

Schedule with_finer_chunks(Schedule s, std::uint32_t parts) {
  s.chunks *= parts;
  for (GroupFamily& f : s.families)
    for (Axis& a : f.outer) a.chunk_stride *= parts;
  for (Phase& p : s.phases) {
    p.chunk_base *= parts;
    p.span *= parts;
  }
  if (s.layout.empty()) return s;
  for (Axis& a : s.layout) a.chunk_stride *= parts;
  s.layout.insert(s.layout.begin(), Axis{.extent = parts, .chunk_stride = 1});
  return s;
}

}  // namespace busbar
