#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "busbar/collectives/builders.h"
#include "busbar/collectives/legality.h"

namespace busbar {
namespace {

using enum Collective;

template <class... Ops>
constexpr std::uint32_t set_of(Ops... ops) {
  return ((1u << static_cast<int>(ops)) | ...);
}

struct Entry {
  std::string_view name;
  std::uint32_t ops;  ///< bit per Collective
  Result<Schedule> (*build)(const ScheduleSpec&);
  bool in_network = false;
};

/// The one list of algorithms, in the order of docs/collectives.md.
constexpr std::array<Entry, 12> kEntries{{
    {"ring", set_of(kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce), &build_ring},
    {"tree", set_of(kAllReduce, kBroadcast, kReduce, kGather, kScatter), &build_tree},
    {"halving_doubling", set_of(kAllReduce, kAllGather, kReduceScatter), &build_halving_doubling},
    {"rabenseifner", set_of(kAllReduce, kBroadcast, kReduce), &build_rabenseifner},
    {"bruck", set_of(kAllGather, kAllToAll), &build_bruck},
    {"pat", set_of(kAllGather, kReduceScatter), &build_pat},
    {"direct", set_of(kAllReduce, kAllGather, kReduceScatter, kAllToAll, kAllToAllV, kGather, kScatter, kSendRecv),
     &build_direct},
    {"pairwise", set_of(kAllToAll, kAllToAllV), &build_pairwise},
    {"hierarchical", set_of(kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce), &build_hierarchical},
    {"nvls", set_of(kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce), &build_nvls, true},
    {"sharp", set_of(kAllReduce, kReduce), &build_sharp, true},
    {"torus", set_of(kAllReduce, kAllGather, kReduceScatter), &build_torus},
}};

bool builds(const Entry& e, Collective op) { return e.ops >> static_cast<int>(op) & 1; }

std::string_view without_levels(std::string_view name) { return name.substr(0, name.find('(')); }

std::string names_that_build(Collective op) {
  std::string out;
  for (const Entry& e : kEntries)
    if (builds(e, op)) out += (out.empty() ? "" : ", ") + std::string(e.name);
  return out;
}

/// Counts must fit.
Status check_pairs(const ScheduleSpec& spec) {
  const std::uint64_t n = spec.ranks;
  if (spec.op == kSendRecv && n != 2 && spec.channels > 1)
    return invalid("a send_recv of more than two ranks has one channel");
  if (spec.op != kAllToAll && spec.op != kAllToAllV) return {};
  if (spec.channels > 1) return invalid("an all-to-all has one channel");
  constexpr std::uint32_t kMost = 1u << 16;  // n n chunks, counted in 32 bits
  if (n > kMost)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("an all-to-all over {} ranks has more pairs than can be counted: at most {}", n, kMost),
                 {}};
  if (spec.op == kAllToAll) return {};
  const PairCounts& p = spec.pairs;
  if (p.hot > n || p.hot_chunks == 0 || n * (n + std::uint64_t{p.hot} * (p.hot_chunks - 1)) > UINT32_MAX)
    return invalid("all_to_allv: more hot ranks than ranks, or more chunks than can be counted");
  if (!p.begin.empty() && (p.begin.size() != n * n + 1 || p.begin[0] != 0 || p.begin.back() == 0 ||
                           !std::is_sorted(p.begin.begin(), p.begin.end())))
    return invalid(fmt::format("all_to_allv over {} ranks needs {} sums that grow from 0", n, n * n + 1));
  return {};
}

Result<Schedule> build(const Entry& e, const ScheduleSpec& spec) {
  constexpr std::uint32_t kMostChannels = 1024;  // far above any machine
  if (spec.channels > kMostChannels || spec.orders.size() > kMostChannels)
    return invalid(fmt::format("at most {} channels", kMostChannels));
  BUSBAR_RETURN_IF_ERROR(check_pairs(spec));
  BUSBAR_ASSIGN(Schedule s, e.build(spec));
  if (spec.channels <= s.channels) return s;
  if (spec.channels % s.channels != 0)
    return invalid(fmt::format("{} has {} channels or a multiple of it, not {}", e.name, s.channels, spec.channels));
  if (std::uint64_t{s.chunks} * spec.channels > UINT32_MAX) return too_many_ranks(spec.ranks);
  return with_copies(std::move(s), spec.channels / s.channels);
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

Result<Schedule> build_schedule(const ScheduleSpec& spec) {
  BUSBAR_RETURN_IF_ERROR(check_ranks(spec.ranks, spec.root));
  const std::string_view name = without_levels(spec.algorithm);
  for (const Entry& e : kEntries) {
    if (e.name != name || (name != spec.algorithm && name != "hierarchical")) continue;
    return builds(e, spec.op) ? build(e, spec) : Result<Schedule>(not_built(e.name, spec.op));
  }
  std::string shown = spec.algorithm.substr(0, 64);
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';  // the message goes to terminals
  return not_built("'" + shown + "'", spec.op);
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> out;
  for (const Entry& e : kEntries) out.emplace_back(e.name);
  return out;
}

std::vector<std::string> algorithms_for(const ScheduleSpec& spec, bool in_network) {
  std::vector<std::string> out;
  const std::uint32_t l = spec.ranks_per_group;
  const bool divides = l > 0 && spec.ranks % l == 0, two_levels = divides && l > 1 && l < spec.ranks;
  for (const Entry& e : kEntries) {
    if (!builds(e, spec.op) || (e.in_network && !(in_network && divides && l > 1))) continue;
    if (e.name == "hierarchical" && !two_levels) continue;
    if (e.name == "torus" && spec.dimensions.empty()) continue;
    if (!check_pairs(spec).ok()) continue;
    out.emplace_back(e.name);
  }
  return out;
}

Result<Schedule> build_schedule(std::string_view algorithm, Collective op, std::uint32_t ranks,
                                std::uint32_t ranks_per_group, std::uint32_t root) {
  ScheduleSpec spec;
  spec.algorithm = algorithm;
  spec.op = op;
  spec.ranks = ranks;
  spec.ranks_per_group = ranks_per_group;
  spec.root = root;
  return build_schedule(spec);
}

std::vector<std::string> algorithms_for(Collective op, std::uint32_t ranks, std::uint32_t ranks_per_group) {
  ScheduleSpec spec;
  spec.op = op;
  spec.ranks = ranks;
  spec.ranks_per_group = ranks_per_group;
  std::vector<std::string> out;
  for (const std::string& name : algorithms_for(spec, false)) {
    const bool first_four = name == "ring" || name == "tree" || name == "hierarchical" || name == "direct";
    if (first_four && (name != "direct" || op == kSendRecv) && op != kGather && op != kScatter) out.push_back(name);
  }
  return out;
}

}  // namespace busbar
