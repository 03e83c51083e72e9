#include <fmt/core.h>

#include "busbar/collectives/builders.h"
#include "busbar/collectives/internal/legality.h"

namespace busbar::collectives {

Status check_tree(const GivenTree& t, std::uint32_t ranks, std::size_t number) {
  const auto refuse = [&](const char* why) { return invalid(fmt::format("tree {}: {}", number, why)); };
  if (t.position.size() != ranks || t.parent.size() != ranks) return refuse("has not one node per rank");
  std::vector<bool> seen(ranks, false);
  for (const std::uint32_t p : t.position) {
    if (p >= ranks || seen[p]) return refuse("does not contain each rank once");
    seen[p] = true;
  }
  for (std::uint32_t i = 1; i < ranks; ++i)
    if (t.parent[i] >= i) return refuse("a child comes before its parent");
  return {};
}

Result<Schedule> build_tree_packing(Collective op, std::uint32_t ranks, std::uint32_t root,
                                    const std::vector<WeightedTree>& trees) {
  BUSBAR_RETURN_IF_ERROR(check_ranks(ranks, root));
  if (op != Collective::kAllReduce && op != Collective::kBroadcast && op != Collective::kReduce)
    return not_built("tree", op);
  if (trees.empty() || trees.size() > UINT16_MAX) return invalid("a packing has 1 to 65535 trees");
  Schedule s;
  s.algorithm = "tree";
  s.op = op;
  s.ranks = ranks;
  s.root = root;
  s.channels = static_cast<std::uint32_t>(trees.size());
  s.families = {one_group(ranks)};
  for (std::size_t c = 0; c < trees.size(); ++c) {
    BUSBAR_RETURN_IF_ERROR(check_tree(trees[c].tree, ranks, c));
    if (op != Collective::kAllReduce && trees[c].tree.position[0] != root)
      return invalid(fmt::format("tree {} does not start at root {}", c, root));
    if (trees[c].weight == 0 || UINT32_MAX - s.chunks < trees[c].weight) return invalid("tree weights must add up");
    s.trees.push_back(trees[c].tree);
    Phase p;
    p.channel = static_cast<std::uint16_t>(c);
    p.given = static_cast<std::uint16_t>(c + 1);
    p.chunk_base = s.chunks;
    p.span = trees[c].weight;
    p.root = trees[c].tree.position[0];
    s.chunks += p.span;
    if (op != Collective::kBroadcast) {
      p.pattern = Pattern::kTreeReduce;
      s.phases.push_back(p);
    }
    if (op == Collective::kAllReduce) p.source = Buffer::kOutput;
    if (op != Collective::kReduce) {
      p.pattern = Pattern::kTreeBroadcast;
      s.phases.push_back(p);
    }
  }
  return s;
}

}  // namespace busbar::collectives
