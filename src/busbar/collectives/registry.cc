#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/text.h"
#include "busbar/collectives/algorithms.h"
#include "busbar/collectives/internal/legality.h"
#include "busbar/collectives/internal/levels.h"

namespace busbar::collectives {
namespace {

using enum Collective;

bool builds(const RegisteredAlgorithm& a, Collective op) { return a.ops >> static_cast<int>(op) & 1; }

/// "hierarchical" of "hierarchical(ring,tree)".
std::string_view without_arguments(std::string_view name) { return name.substr(0, name.find('(')); }

/// Null if no algorithm has this name.
const RegisteredAlgorithm* algorithm_named(std::string_view name) {
  const std::string_view head = without_arguments(name);
  for (const RegisteredAlgorithm& a : algorithms())
    if (a.name == head && (name == head || a.traits.names_levels || a.traits.takes_dimensions)) return &a;
  return nullptr;
}

std::string names_that_build(Collective op) {
  std::string out;
  for (const RegisteredAlgorithm& a : algorithms())
    if (builds(a, op)) append_word(out, a.name);
  return out;
}

/// Checks the dimensions of the counts.
Status check_pairs(const ScheduleSpec& spec) {
  const std::uint64_t n = spec.ranks;
  if (spec.op == kSendRecv && n != 2 && spec.channels > 1)
    return invalid("a send_recv of more than two ranks has one channel");
  if (spec.op != kAllToAll && spec.op != kAllToAllV) return {};
  if (spec.channels > 1) return invalid("an all-to-all has one channel");
  constexpr std::uint32_t kMost = 1u << 16;  // n n chunks must fit 32 bits
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

Result<Schedule> build(const RegisteredAlgorithm& a, const ScheduleSpec& spec) {
  constexpr std::uint32_t kMostChannels = 1024;  // far above any machine
  if (spec.channels > kMostChannels || spec.orders.size() > kMostChannels)
    return invalid(fmt::format("at most {} channels", kMostChannels));
  BUSBAR_RETURN_IF_ERROR(check_pairs(spec));
  if (!a.takes(spec.ranks))
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} needs {} of ranks, here are {}", a.name, a.ranks.name, spec.ranks),
                 {}};
  BUSBAR_ASSIGN(Schedule s, a.build(spec));
  s.algorithm = spec.algorithm;
  s.traits = a.traits;
  if (a.traits.takes_orders && !spec.orders.empty() && spec.op != kGather && spec.op != kScatter) {
    BUSBAR_ASSIGN(s, with_orders(std::move(s), spec.orders));
  }
  if (spec.channels <= s.channels) return s;
  if (spec.channels % s.channels != 0)
    return invalid(fmt::format("{} has {} channels or a multiple of it, not {}", a.name, s.channels, spec.channels));
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
  if (const RegisteredAlgorithm* a = algorithm_named(spec.algorithm))
    return builds(*a, spec.op) ? build(*a, spec) : Result<Schedule>(not_built(a->name, spec.op));
  std::string shown = spec.algorithm.substr(0, 64);
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';  // the message may go to a terminal
  return not_built("'" + shown + "'", spec.op);
}

Result<std::vector<std::string_view>> arguments_of(std::string_view algorithm) {
  const auto open = algorithm.find('(');
  if (open == std::string_view::npos) return std::vector<std::string_view>();
  if (!algorithm.ends_with(')')) return invalid("end the list with ')': hierarchical(ring,tree) or torus(4,4,4)");
  return split_at(algorithm.substr(open + 1, algorithm.size() - open - 2), ',');
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> out;
  for (const RegisteredAlgorithm& a : algorithms()) out.emplace_back(a.name);
  return out;
}

AlgorithmTraits traits_of(std::string_view algorithm) {
  const RegisteredAlgorithm* a = algorithm_named(algorithm);
  return a == nullptr ? AlgorithmTraits() : a->traits;
}

std::vector<std::string> algorithms_for(const ScheduleSpec& spec, bool in_network) {
  std::vector<std::string> out;
  const std::uint32_t l = spec.ranks_per_group;
  const bool divides = l > 0 && spec.ranks % l == 0, two_levels = divides && l > 1 && l < spec.ranks;
  if (!check_pairs(spec).ok()) return out;
  for (const RegisteredAlgorithm& a : algorithms()) {
    const AlgorithmTraits& t = a.traits;
    if (!builds(a, spec.op) || !a.takes(spec.ranks) || (t.reduces_in_network && !(in_network && divides && l > 1)))
      continue;
    if ((t.names_levels && !two_levels) || (t.takes_dimensions && spec.dimensions.empty())) continue;
    out.emplace_back(a.name);
  }
  return out;
}

std::vector<std::string> nested_forms(const ScheduleSpec& spec, bool in_network) {
  std::vector<std::string> out;
  const std::uint32_t l = spec.ranks_per_group;
  if (l < 2 || l >= spec.ranks || spec.ranks % l != 0) return out;
  for (const RegisteredAlgorithm& a : algorithms())
    for (const std::string_view inner : level_names())
      for (const std::string_view outer : level_names()) {
        if (!a.traits.names_levels || !builds(a, spec.op)) continue;
        ScheduleSpec form = spec;
        form.algorithm = fmt::format("{}({},{})", a.name, inner, outer);
        form.dimensions = {};
        const Result<Schedule> s = build_schedule(form);
        if (s.ok() && (in_network || s->reducers == 0)) out.push_back(std::move(form.algorithm));
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

}  // namespace busbar::collectives
