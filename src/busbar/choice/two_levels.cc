#include "busbar/choice/internal/two_levels.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "busbar/choice/internal/cheapest.h"
#include "busbar/choice/internal/forest_packing.h"
#include "busbar/choice/internal/link_prices.h"
#include "busbar/collectives/tree_shape.h"

namespace busbar::choice {
namespace {

constexpr std::uint64_t kMostRoutes = 1 << 18;
constexpr std::uint32_t kMostPlaces = 72;
constexpr std::uint32_t kMostPlacesDeep = 32;
constexpr std::uint32_t kMostChannels = 64;

using Nodes = std::vector<std::vector<std::uint32_t>>;

/// The price of depth: shallow trees start sooner, deep ones may share links better.
constexpr double kPerDepth[] = {0.0, 1.0};

bool in_order(const Nodes& nodes) {
  std::uint32_t next = 0;
  for (const auto& ranks : nodes)
    for (const std::uint32_t r : ranks)
      if (r != next++) return false;
  return true;
}

/// How the ranks of one place exchange between the nodes.
struct Between {
  const char* name;
  collectives::Pattern scatter, gather;
};
constexpr Between kBetween[] = {
    {"rings", collectives::Pattern::kRingReduceScatter, collectives::Pattern::kRingAllGather},
    {"halves", collectives::Pattern::kHalvingReduceScatter, collectives::Pattern::kDoublingAllGather},
    {"parallel trees", collectives::Pattern::kPatReduceScatter, collectives::Pattern::kPatAllGather},
};

class TwoLevels {
 public:
  TwoLevels(const routing::Router& router, const routing::Placement& placement, const program::CollectiveCall& call,
            const Nodes& nodes, const Shortcuts& shortcuts)
      : call_(call), nodes_(nodes), count_(static_cast<std::uint32_t>(nodes.size())), places_(nodes[0].size()) {
    Nodes global = nodes;
    for (auto& ranks : global)
      for (std::uint32_t& r : ranks) r = call.groups.actor(0, r);
    routes_.emplace(router, placement, global, shortcuts);
    if (rooted()) root_routes_.emplace(router, placement, Nodes{global[root_node()], global[root_node()]}, shortcuts);
  }

  Result<std::vector<Synthesized>> all() {
    for (const double per_depth : kPerDepth) {
      if (per_depth == 0 && places_ > kMostPlacesDeep) continue;
      ForestRequest request;
      request.op = call_.op == collectives::Collective::kBroadcast ? collectives::Collective::kAllGather
                   : call_.op == collectives::Collective::kReduce  ? collectives::Collective::kReduceScatter
                                                                   : call_.op;
      request.nodes = count_;
      request.most_trees = kMostChannels;
      request.per_depth = per_depth;
      request.any_root = rooted() || call_.op == collectives::Collective::kAllReduce;
      for (const ForestPacking& packing : pack_forests(*routes_, request))
        BUSBAR_RETURN_IF_ERROR(rooted() ? whole(packing.trees) : pieces(packing.trees));
    }
    return std::move(out_);
  }

 private:
  bool rooted() const {
    return call_.op == collectives::Collective::kBroadcast || call_.op == collectives::Collective::kReduce;
  }
  std::size_t root_node() const {
    for (std::size_t v = 0; v < nodes_.size(); ++v)
      if (std::find(nodes_[v].begin(), nodes_[v].end(), call_.root) != nodes_[v].end()) return v;
    return 0;
  }

  void add(collectives::Schedule s, std::string what) {
    s.root = call_.root;
    out_.push_back({std::make_shared<const collectives::Schedule>(std::move(s)), std::move(what)});
  }

  Status pieces(const std::vector<collectives::ForestTree>& trees) {
    collectives::ForestSpec spec;
    spec.op = call_.op;
    spec.ranks = call_.groups.size();
    spec.per_node = places_;
    spec.trees = trees;
    for (const auto& ranks : nodes_)
      if (!in_order(nodes_)) spec.order.insert(spec.order.end(), ranks.begin(), ranks.end());
    for (const Between& way : kBetween) {
      spec.scatter = way.scatter;
      spec.gather = way.gather;
      BUSBAR_ASSIGN(collectives::Schedule s, collectives::build_forest(spec));
      add(std::move(s), fmt::format("{} trees in each of {} nodes, {} between them", trees.size(), count_, way.name));
    }
    return {};
  }

  /// Trees over all ranks, two per share: mates with the same root over the nodes, where no node is inner in both.
  Status whole(const std::vector<collectives::ForestTree>& forest) {
    const bool up = call_.op == collectives::Collective::kReduce;
    LinkPrices prices(*root_routes_);
    const std::size_t home = root_node();
    const auto& at_home = nodes_[home];
    const auto root =
        static_cast<std::uint32_t>(std::find(at_home.begin(), at_home.end(), call_.root) - at_home.begin());
    std::vector<collectives::WeightedTree> trees;
    for (const collectives::ForestTree& share : forest) {
      const collectives::GivenTree& inside = up ? share.up : share.down;
      prices.rescale();
      const auto own = prices.cheapest_tree(root, {up, !up});
      const collectives::GivenTree own_tree = rooted_at(own, root);
      for (std::uint32_t i = 1; i < places_; ++i) {
        const std::uint32_t child = own_tree.position[i], parent = own_tree.position[own_tree.parent[i]];
        prices.add(up ? child : parent, up ? parent : child, 1);
      }
      for (const std::uint8_t mate : {0, 2}) {
        if (count_ == 2 && mate == 2) continue;
        std::vector<std::vector<std::uint32_t>> near(call_.groups.size());
        for (std::uint32_t a = 0; a < places_; ++a)
          for (const std::uint32_t b : own[a]) near[at_home[a]].push_back(at_home[b]);
        add_nodes(inside, mate, home, near);
        trees.push_back({rooted_at(std::move(near), call_.root), share.weight});
      }
    }
    BUSBAR_ASSIGN(collectives::Schedule s,
                  collectives::build_tree_packing(call_.op, call_.groups.size(), call_.root, trees));
    add(std::move(s), fmt::format("{} trees over {} nodes", trees.size(), count_));
    return {};
  }

  /// Adds the other nodes' trees. The root of each is a child of the rank at the same place in the node above it.
  void add_nodes(const collectives::GivenTree& inside, std::uint8_t mate, std::size_t home,
                 std::vector<std::vector<std::uint32_t>>& near) const {
    const auto join = [&](std::uint32_t a, std::uint32_t b) { near[a].push_back(b), near[b].push_back(a); };
    for (std::uint32_t i = 1; i < count_; ++i) {
      const auto node_of = [&](std::uint32_t k) -> const std::vector<std::uint32_t>& {
        return nodes_[collectives::tree_position(count_, mate, static_cast<std::uint32_t>(home), k)];
      };
      const auto& ranks = node_of(i);
      join(node_of(collectives::tree_parent(count_, i))[inside.position[0]], ranks[inside.position[0]]);
      for (std::uint32_t k = 1; k < places_; ++k)
        join(ranks[inside.position[inside.parent[k]]], ranks[inside.position[k]]);
    }
  }

  const program::CollectiveCall& call_;
  const Nodes& nodes_;
  std::uint32_t count_, places_;
  std::optional<RankRoutes> routes_, root_routes_;
  std::vector<Synthesized> out_;
};

}  // namespace

Result<std::vector<Synthesized>> two_levels(const routing::Router& router, const routing::Placement& placement,
                                            const program::CollectiveCall& call, const Nodes& nodes,
                                            const Shortcuts& shortcuts) {
  const bool whole = call.op == collectives::Collective::kBroadcast || call.op == collectives::Collective::kReduce;
  const bool pieces = call.op == collectives::Collective::kAllReduce ||
                      call.op == collectives::Collective::kAllGather ||
                      call.op == collectives::Collective::kReduceScatter;
  const std::uint64_t places = nodes.empty() ? 0 : nodes[0].size();
  const bool equal = std::all_of(nodes.begin(), nodes.end(), [&](const auto& ranks) { return ranks.size() == places; });
  if (!(whole || call.op == collectives::Collective::kAllReduce || (pieces && in_order(nodes))) || !equal ||
      nodes.size() < 2 || places > kMostPlaces || nodes.size() * places * places > kMostRoutes)
    return std::vector<Synthesized>();
  return TwoLevels(router, placement, call, nodes, shortcuts).all();
}

}  // namespace busbar::choice
