#include "busbar/choice/synthesis.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "busbar/choice/fastest.h"
#include "busbar/choice/internal/cheapest.h"
#include "busbar/choice/internal/forest_packing.h"
#include "busbar/choice/internal/packing.h"
#include "busbar/choice/internal/path_packing.h"
#include "busbar/choice/internal/rank_order.h"
#include "busbar/choice/internal/two_levels.h"
#include "busbar/choice/rooted_sums.h"
#include "busbar/collectives/builders.h"
#include "busbar/collectives/chain.h"
#include "busbar/engine/engine.h"
#include "busbar/lowering/channels.h"
#include "busbar/lowering/lowering.h"

namespace busbar::choice {
namespace {

constexpr std::uint32_t kMostSearched = 64;       // ranks
constexpr std::uint32_t kMostByGraph = 32;        // ranks searched as if all links were equally fast, too
constexpr std::uint32_t kMostUnits = 32;          // rings or trees at the same time
constexpr std::uint32_t kMostForest = 96;         // trees at the same time
constexpr std::uint32_t kMostBesideLevels = 16;   // ranks of a forest over several nodes
constexpr std::uint32_t kMostPairsSearched = 16;  // ranks of an all-to-all
constexpr std::uint32_t kMostRelayed = 8192;      // ranks
constexpr std::uint32_t kMostTurned = 8192;       // ranks
constexpr std::uint32_t kMostHalved = 1024;       // ranks

bool rooted(collectives::Collective op) {
  return op == collectives::Collective::kBroadcast || op == collectives::Collective::kReduce;
}

class Maker {
 public:
  Maker(const routing::Router& router, const routing::Placement& placement, const program::CollectiveCall& call,
        const Shortcuts& shortcuts)
      : router_(router), placement_(placement), call_(call), shortcuts_(shortcuts), n_(call.groups.size()) {}

  Result<std::vector<Synthesized>> all() {
    if (call_.op > collectives::Collective::kReduce) {  // the remaining collectives have no rings and no trees
      BUSBAR_RETURN_IF_ERROR(over_relays());
      return std::move(out_);
    }
    bool has_levels = false;
    if (n_ > 2 && n_ <= kMostTurned) {
      const std::vector<std::vector<std::uint32_t>> nodes = by_node();
      BUSBAR_RETURN_IF_ERROR(turned_rings(nodes));
      BUSBAR_RETURN_IF_ERROR(turned_trees(nodes));
      BUSBAR_ASSIGN(std::vector<Synthesized> two, two_levels(router_, placement_, call_, nodes, shortcuts_));
      has_levels = !two.empty();
      std::move(two.begin(), two.end(), std::back_inserter(out_));
    }
    for (const bool equal_rates : {false, true}) {
      if (n_ < 2 || n_ > (equal_rates ? kMostByGraph : kMostSearched)) break;
      const program::CollectiveCall ordered = in_order();
      const RankRoutes routes(router_, placement_, ordered, equal_rates);
      if (equal_rates && RankRoutes(router_, placement_, ordered).has_equal_rates()) break;
      for (const std::uint32_t most : {1u, kMostUnits}) {
        const Packing r = pack(routes, call_.op, ordered.root, PackingShape::kRings, most);
        if (r.size() > 0) BUSBAR_RETURN_IF_ERROR(rings(given_numbers(r.orders), "searched"));
        const Packing t = pack(routes, call_.op, ordered.root, PackingShape::kTrees, most);
        if (t.size() > 0) BUSBAR_RETURN_IF_ERROR(trees(given_numbers(t.trees)));
      }
      for (const double per_depth : {0.0, 1.0}) {
        if (has_levels && n_ > kMostBesideLevels) break;
        const ForestRequest request{call_.op, 1, kMostForest, per_depth,
                                    call_.op == collectives::Collective::kAllReduce};
        for (const ForestPacking& f : pack_forests(routes, request))
          BUSBAR_RETURN_IF_ERROR(forest(given_numbers(f.trees)));
      }
    }
    if (rooted(call_.op)) {
      BUSBAR_RETURN_IF_ERROR(in_two_halves());
      BUSBAR_RETURN_IF_ERROR(as_all_reduce());
    }
    return std::move(out_);
  }

 private:
  /// The call over the same ranks in an order given by their routes: what a search finds there does not depend on
  /// how ranks are numbered.
  program::CollectiveCall in_order() {
    const bool has_root = rooted(call_.op) || call_.op == collectives::Collective::kGather ||
                          call_.op == collectives::Collective::kScatter;
    if (order_.empty())
      order_ =
          order_by_routes(RankRoutes(router_, placement_, call_), has_root ? std::optional(call_.root) : std::nullopt);
    program::CollectiveCall out = call_;
    out.groups = {};
    out.groups.listed_groups = 1;
    for (const std::uint32_t r : order_) out.groups.listed.push_back(call_.groups.actor(0, r));
    if (has_root)
      out.root = static_cast<std::uint32_t>(std::find(order_.begin(), order_.end(), call_.root) - order_.begin());
    return out;
  }
  void give_number(std::uint32_t& rank) const { rank = order_[rank]; }
  void give_number(std::vector<std::uint32_t>& ranks) const {
    for (std::uint32_t& r : ranks) give_number(r);
  }
  void give_number(collectives::WeightedTree& t) const { give_number(t.tree.position); }
  void give_number(collectives::ForestTree& t) const {
    give_number(t.up.position);
    give_number(t.down.position);
  }
  void give_number(collectives::RankPath& p) const { give_number(p.ranks); }
  /// What was found for in_order(), for the ranks as the call numbers them.
  template <typename T>
  std::vector<T> given_numbers(std::vector<T> found) const {
    for (T& f : found) give_number(f);
    return found;
  }

  Status rings(std::vector<std::vector<std::uint32_t>> orders, const char* how) {
    collectives::ScheduleSpec spec;
    spec.algorithm = "ring";
    spec.op = call_.op;
    spec.ranks = n_;
    spec.root = call_.root;
    spec.orders = std::move(orders);
    const std::size_t count = spec.orders.size();
    BUSBAR_ASSIGN(collectives::Schedule s, collectives::build_schedule(spec));
    add(std::move(s), fmt::format("{} ring{} {}", count, count == 1 ? "" : "s", how));
    return {};
  }

  Status trees(const std::vector<collectives::WeightedTree>& trees) {
    BUSBAR_ASSIGN(collectives::Schedule s, collectives::build_tree_packing(call_.op, n_, call_.root, trees));
    add(std::move(s), fmt::format("{} tree{}", trees.size(), trees.size() == 1 ? "" : "s"));
    return {};
  }

  Status forest(const std::vector<collectives::ForestTree>& trees) {
    collectives::ForestSpec spec;
    spec.op = call_.op;
    spec.ranks = n_;
    spec.trees = trees;
    BUSBAR_ASSIGN(collectives::Schedule s, collectives::build_forest(spec));
    s.root = call_.root;
    add(std::move(s), fmt::format("{} trees from every rank", trees.size()));
    return {};
  }

  /// A scatter followed by each all-gather, or each reduce-scatter followed by a gather.
  Status in_two_halves() {
    if (n_ < 3 || n_ > kMostHalved) return {};
    const bool down = call_.op == collectives::Collective::kBroadcast;
    program::CollectiveCall half = call_;
    half.op = down ? collectives::Collective::kAllGather : collectives::Collective::kReduceScatter;
    half.root = 0;
    const auto take = [&](const collectives::Schedule& s, const std::string& what) {
      add(collectives::with_root(s, call_.root), down ? "a scatter, then " + what : what + ", then a gather");
    };
    return each_schedule(half, take);
  }

  /// Each all-reduce, in which only the root has something to add, or only the root keeps the sums.
  Status as_all_reduce() {
    if (n_ < 3 || n_ > kMostHalved) return {};
    program::CollectiveCall sums = call_;
    sums.op = collectives::Collective::kAllReduce;
    sums.root = 0;
    return each_schedule(sums, [&](const collectives::Schedule& s, const std::string& what) {
      const bool down = call_.op == collectives::Collective::kBroadcast;
      if (auto rooted = rooted_sums(s, call_.op, call_.root))
        add(*std::move(rooted), what + (down ? ", an all-reduce of what the root has"
                                             : ", an all-reduce of which the root keeps the sums"));
    });
  }

  /// `take(schedule, what)` for each schedule made for `call`, and for each algorithm that `fastest` tries.
  template <typename F>
  Status each_schedule(program::CollectiveCall call, const F& take) {
    BUSBAR_ASSIGN(const std::vector<Synthesized> made, Maker(router_, placement_, call, shortcuts_).all());
    for (const Synthesized& m : made) take(*m.schedule, m.what);
    const topology::Topology& t = router_.topology();
    const std::uint32_t per_domain = lowering::ranks_per_domain(call, t, placement_);
    for (const std::string& name : fastest_names(call, placement_, t, shortcuts_)) {
      call.algorithm = name;
      if (const auto s = lowering::build_for_call(call, t, placement_, per_domain, 0); s.ok()) take(*s, name);
    }
    return {};
  }

  /// If all nodes are as large as the root's, also without search: over the rank at the same place in the root's node.
  Status over_relays() {
    const bool pairs = call_.op == collectives::Collective::kAllToAll;
    if (n_ > 1 && n_ <= (pairs ? kMostPairsSearched : kMostSearched)) {
      const program::CollectiveCall ordered = in_order();
      for (const bool equal_rates : {false, true}) {
        const RankRoutes routes(router_, placement_, ordered, equal_rates);
        for (const PathPacking& p : pack_paths(routes, call_.op, ordered.root))
          BUSBAR_RETURN_IF_ERROR(paths(given_numbers(p.paths)));
      }
    }
    if (pairs || n_ < 3 || n_ > kMostRelayed ||
        (call_.op != collectives::Collective::kGather && call_.op != collectives::Collective::kScatter))
      return {};
    const std::vector<std::vector<std::uint32_t>> nodes = by_node();
    const auto has_root = [&](const auto& ranks) {
      return std::find(ranks.begin(), ranks.end(), call_.root) != ranks.end();
    };
    const auto& home = *std::find_if(nodes.begin(), nodes.end(), has_root);
    std::vector<collectives::RankPath> out;
    for (const auto& ranks : nodes)
      for (std::size_t l = 0; l < ranks.size(); ++l) {
        if (ranks[l] == call_.root) continue;
        const std::uint32_t relay = home[l % home.size()];
        collectives::RankPath p{{ranks[l], call_.root}};
        if (relay != call_.root && relay != ranks[l]) p.ranks.insert(p.ranks.begin() + 1, relay);
        if (call_.op == collectives::Collective::kScatter) std::reverse(p.ranks.begin(), p.ranks.end());
        out.push_back(std::move(p));
      }
    return nodes.size() < 2 ? Status() : paths(out);
  }

  Status paths(const std::vector<collectives::RankPath>& paths) {
    BUSBAR_ASSIGN(collectives::Schedule s, collectives::build_paths(call_.op, n_, call_.root, paths));
    const auto relayed =
        std::count_if(paths.begin(), paths.end(), [](const collectives::RankPath& p) { return p.ranks.size() > 2; });
    add(std::move(s), fmt::format("{} paths, {} of them over relays", paths.size(), relayed));
    return {};
  }

  void add(collectives::Schedule s, std::string what) {
    out_.push_back({std::make_shared<const collectives::Schedule>(std::move(s)), std::move(what)});
  }

  /// Ranks of each node in the order of their GPUs, so that ranks at the same place have the same rail.
  std::vector<std::vector<std::uint32_t>> by_node() const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> nodes;
    for (std::uint32_t r = 0; r < n_; ++r)
      nodes[index(router_.topology().block_of(placement_.gpu(call_.groups.actor(0, r))))].push_back(r);
    std::vector<std::vector<std::uint32_t>> out;
    const auto gpu = [&](std::uint32_t r) { return index(placement_.gpu(call_.groups.actor(0, r))); };
    for (auto& [node, ranks] : nodes) {
      std::sort(ranks.begin(), ranks.end(), [&](std::uint32_t a, std::uint32_t b) { return gpu(a) < gpu(b); });
      out.push_back(std::move(ranks));
    }
    return out;
  }

  static std::size_t most_ranks(const std::vector<std::vector<std::uint32_t>>& nodes) {
    std::size_t most = 0;
    for (const auto& ranks : nodes) most = std::max(most, ranks.size());
    return most;
  }

  /// Rings through node after node; ring c enters each node c GPUs later and so leaves by another GPU.
  Status turned_rings(const std::vector<std::vector<std::uint32_t>>& nodes) {
    constexpr std::size_t kMostTurns = 16;
    const std::size_t count = std::min(most_ranks(nodes), kMostTurns);
    if (nodes.size() < 2 || count < 2) return {};
    std::vector<std::vector<std::uint32_t>> orders(count);
    for (std::size_t c = 0; c < count; ++c)
      for (const auto& ranks : nodes)
        for (std::size_t i = 0; i < ranks.size(); ++i) orders[c].push_back(ranks[(i + c) % ranks.size()]);
    return rings(std::move(orders), "turned from node to node");
  }

  /// A chain through each node, starting at its GPU c; the heads of the chains form another chain, which starts at node
  /// r. Over all c and r, each NIC forwards 2 (N - 1)/N of its part of S between N nodes, less than on a ring of all
  /// ranks.
  Status turned_trees(const std::vector<std::vector<std::uint32_t>>& nodes) {
    constexpr std::size_t kMostTrees = 128;
    const std::size_t heads = most_ranks(nodes), count = heads * nodes.size();
    if (call_.op != collectives::Collective::kAllReduce || nodes.size() < 2 || count > kMostTrees) return {};
    std::vector<collectives::WeightedTree> out;
    for (std::size_t c = 0; c < heads; ++c)
      for (std::size_t r = 0; r < nodes.size(); ++r) {
        std::vector<std::vector<std::uint32_t>> near(n_);
        const auto join = [&](std::uint32_t a, std::uint32_t b) {
          near[a].push_back(b);
          near[b].push_back(a);
        };
        for (std::size_t v = 0; v < nodes.size(); ++v) {
          const auto& ranks = nodes[(r + v) % nodes.size()];
          const auto at = [&](std::size_t i) { return ranks[(c + i) % ranks.size()]; };
          for (std::size_t i = 1; i < ranks.size(); ++i) join(at(i - 1), at(i));
          const auto& before = nodes[(r + v + nodes.size() - 1) % nodes.size()];
          if (v > 0) join(before[c % before.size()], at(0));
        }
        out.push_back({rooted_at_centre(std::move(near)), 1});
      }
    return trees(out);
  }

  const routing::Router& router_;
  const routing::Placement& placement_;
  const program::CollectiveCall& call_;
  const Shortcuts shortcuts_;
  std::uint32_t n_;
  std::vector<std::uint32_t> order_;  ///< of in_order()
  std::vector<Synthesized> out_;
};

}  // namespace

Result<std::vector<Synthesized>> synthesize(const routing::Router& router, const routing::Placement& placement,
                                            const program::CollectiveCall& call, const Shortcuts& shortcuts) {
  if (call.groups.groups() != 1)
    return Error{ErrorCode::kUnsupported, "schedules are synthesized for one group of ranks at a time", {}};
  return Maker(router, placement, call, shortcuts).all();
}

namespace {

/// Whether numbers of pieces other than the lowering's are tried.
bool may_be_cut(const engine::Engine& engine, const program::CollectiveCall& call) {
  const program::ProtocolModel* costs = engine.protocol();
  if (call.chunks != 0 || costs == nullptr || !rooted(call.op)) return false;
  return count(costs->chunk) == 0 || !collectives::pipelines(*call.schedule);
}

/// The number of pieces to try if the lowering uses one. If pieces cost nothing, a chain or tree uses as many as a
/// ring. Otherwise pieces have the protocol's size and go through all phases.
std::uint32_t pieces_of(const engine::Engine& engine, program::CallId id, const program::CollectiveCall& call) {
  const lowering::LoweredCall* lowered = engine.lowered(id);
  if (!may_be_cut(engine, call) || lowered == nullptr || lowered->chunks != 1) return 0;
  const std::uint64_t piece = count(engine.protocol()->chunk) * lowered->channels;
  const std::uint64_t pieces = piece == 0 ? call.schedule->ranks : count(call.bytes) / piece;
  return pieces < 2 ? 0 : static_cast<std::uint32_t>(std::min<std::uint64_t>(pieces, lowering::kMostChunks));
}

}  // namespace

Result<SynthesizedCall> pick_fastest(engine::Engine& engine, engine::Engine* lower_bound, CutTime& cut,
                                     const std::vector<Synthesized>& candidates, program::CollectiveCall call,
                                     program::CollectiveCall textbook) {
  SynthesizedCall best;
  BUSBAR_ASSIGN(const program::CallId plain, engine.prepare(textbook));
  Duration least = best.textbook_alone = engine.time_alone(plain);
  best.call = best.textbook = std::move(textbook);
  best.what = "plain " + best.call.algorithm;
  call.algorithm = "ring";
  if (const Result<program::CallId> ring = engine.prepare(call); ring.ok()) {
    best.ring_alone = engine.time_alone(*ring);
    // With less than a byte per rank, the textbook algorithms include no ring.
    if (*best.ring_alone < least) least = *best.ring_alone, best.call = call, best.what = "plain ring";
  }
  call.algorithm = "synthesized";
  const std::uint32_t asked = call.chunks;
  const Shortcuts shortcuts = engine.shortcuts();
  std::vector<std::pair<Duration, std::size_t>> order;  // by lower bound
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    BUSBAR_RETURN_IF_ERROR(engine.status());
    call.schedule = candidates[i].schedule;
    const bool whole = !may_be_cut(engine, call);
    call.chunks = whole ? asked : 2;
    const bool cuts = shortcuts.has(Shortcut::kCutTime);
    const Duration cables = cuts ? duration_from_ps(cut.least_ps(call, *call.schedule) * (1 - 1e-9)) : Duration();
    call.chunks = asked;
    if (cables > least && shortcuts.take(Shortcut::kCutTime)) continue;
    if (engine.least_time(call) > least && shortcuts.take(Shortcut::kLeastTime)) continue;
    order.emplace_back(cables, i);
    if (lower_bound == nullptr || !whole) continue;
    if (const Result<program::CallId> id = lower_bound->prepare(call); id.ok())
      order.back().first = std::max(cables, lower_bound->time_alone(*id));
  }
  std::sort(order.begin(), order.end());
  for (const auto& [at_least, i] : order) {
    if (at_least > least) {
      shortcuts.take(lower_bound != nullptr ? Shortcut::kBoundEngine : Shortcut::kCutTime);
      break;
    }
    call.schedule = candidates[i].schedule;
    call.chunks = asked;
    for (bool again = true; again;) {
      BUSBAR_RETURN_IF_ERROR(engine.status());
      const Result<program::CallId> id = engine.prepare(call);
      if (!id.ok()) break;  // some candidates need hardware that this machine lacks
      const Duration time = engine.time_alone(*id);
      if (time < least) least = time, best.call = call, best.what = candidates[i].what;
      const std::uint32_t pieces = pieces_of(engine, *id, call);
      again = pieces != 0;
      if (again) call.chunks = pieces;
    }
  }
  return best;
}

}  // namespace busbar::choice
