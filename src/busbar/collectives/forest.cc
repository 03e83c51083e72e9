#include "busbar/collectives/forest.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/collectives/internal/legality.h"

namespace busbar::collectives {
namespace {

using enum Buffer;

class ForestWriter {
 public:
  explicit ForestWriter(const ForestSpec& spec)
      : spec_(spec),
        places_(spec.per_node == 0 ? spec.ranks : spec.per_node),
        nodes_(places_ == 0 ? 0 : spec.ranks / places_),
        scatters_(spec.op != Collective::kAllGather),
        gathers_(spec.op != Collective::kReduceScatter) {}

  Result<Schedule> write() {
    BUSBAR_RETURN_IF_ERROR(check());
    s_.algorithm = nodes_ > 1 ? "hierarchical" : "tree";
    s_.traits.names_levels = nodes_ > 1;
    s_.op = spec_.op;
    s_.ranks = spec_.ranks;
    s_.channels = 0;
    add_families();
    for (const ForestTree* t : by_root()) {
      const std::uint16_t up = scatters_ ? add_tree(t->up) : 0, down = gathers_ ? add_tree(t->down) : 0;
      const std::uint32_t root = root_of(*t), times = nodes_ > 1 ? t->weight : 1;
      for (std::uint32_t i = 0; i < times; ++i) add_channel(root, up, down, nodes_ > 1 ? 1 : t->weight);
    }
    if (nodes_ > 1 && spec_.op != Collective::kAllReduce) lay_out();
    return std::move(s_);
  }

 private:
  std::uint32_t root_of(const ForestTree& t) const { return (gathers_ ? t.down : t.up).position[0]; }

  Status check() const {
    BUSBAR_RETURN_IF_ERROR(check_ranks(spec_.ranks, 0));
    if (spec_.op != Collective::kAllReduce && spec_.op != Collective::kAllGather &&
        spec_.op != Collective::kReduceScatter)
      return not_built("tree", spec_.op);
    if (places_ == 0 || nodes_ * places_ != spec_.ranks)
      return invalid(fmt::format("{} ranks do not divide into nodes of {}", spec_.ranks, places_));
    BUSBAR_RETURN_IF_ERROR(check_order());
    std::vector<std::uint64_t> weight(places_, 0);
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < spec_.trees.size(); ++i) {
      const ForestTree& t = spec_.trees[i];
      if (scatters_) BUSBAR_RETURN_IF_ERROR(check_tree(t.up, places_, i));
      if (gathers_) BUSBAR_RETURN_IF_ERROR(check_tree(t.down, places_, i));
      if (scatters_ && gathers_ && t.up.position[0] != t.down.position[0])
        return invalid(fmt::format("tree {}: goes up to another root than it comes down from", i));
      if (t.weight == 0) return invalid(fmt::format("tree {}: weight 0", i));
      weight[root_of(t)] += t.weight;
      all += t.weight;
    }
    const bool equal = std::adjacent_find(weight.begin(), weight.end(), std::not_equal_to<>()) == weight.end();
    if (all == 0 || (spec_.op != Collective::kAllReduce && !equal))
      return invalid("the trees of every rank must have the same total weight");
    if (spec_.trees.size() > UINT16_MAX / 2 ||
        all * nodes_ > (nodes_ > 1 ? UINT16_MAX * std::uint64_t{nodes_} : UINT32_MAX))
      return invalid("a forest has 1 to 32767 trees");
    return {};
  }

  Status check_order() const {
    if (spec_.order.empty()) return {};
    std::vector<std::uint32_t> sorted = spec_.order;
    std::sort(sorted.begin(), sorted.end());
    bool each = sorted.size() == spec_.ranks;
    for (std::uint32_t r = 0; each && r < spec_.ranks; ++r) each = sorted[r] == r;
    if (!each) return invalid("the order of a forest does not contain each rank once");
    if (spec_.op != Collective::kAllReduce) return invalid("only an all_reduce can have its ranks in another order");
    return {};
  }

  /// Family 0: the ranks of every node; family 1 + l: the ranks at place l.
  void add_families() {
    if (!spec_.order.empty()) return list_families();
    s_.families = {one_group(places_)};
    if (nodes_ == 1) return;
    s_.families[0].outer = {Axis{.extent = nodes_, .actor_stride = places_}};
    for (std::uint32_t l = 0; l < places_; ++l) {
      GroupFamily across;
      across.base = l;
      across.inner = {Axis{.extent = nodes_, .actor_stride = places_}};
      s_.families.push_back(std::move(across));
    }
  }

  void list_families() {
    const auto list = [&](std::vector<std::uint32_t> ranks, std::uint32_t groups) {
      GroupFamily f;
      f.listed = std::move(ranks);
      f.listed_groups = groups;
      s_.families.push_back(std::move(f));
    };
    list(spec_.order, nodes_);
    for (std::uint32_t l = 0; l < places_ && nodes_ > 1; ++l) {
      std::vector<std::uint32_t> across;
      for (std::uint32_t m = 0; m < nodes_; ++m) across.push_back(spec_.order[std::size_t{m} * places_ + l]);
      list(std::move(across), 1);
    }
  }

  std::vector<const ForestTree*> by_root() const {
    std::vector<const ForestTree*> out;
    for (const ForestTree& t : spec_.trees) out.push_back(&t);
    std::stable_sort(out.begin(), out.end(),
                     [&](const ForestTree* a, const ForestTree* b) { return root_of(*a) < root_of(*b); });
    return out;
  }

  std::uint16_t add_tree(const GivenTree& t) {
    for (std::size_t i = 0; i < s_.trees.size(); ++i)
      if (s_.trees[i].position == t.position && s_.trees[i].parent == t.parent)
        return static_cast<std::uint16_t>(i + 1);
    s_.trees.push_back(t);
    return static_cast<std::uint16_t>(s_.trees.size());
  }

  void add(Pattern pattern, std::uint32_t family, std::uint32_t span, Buffer source, Buffer work, Buffer result) {
    Phase p = phase_of(pattern, source, work, result);
    p.channel = static_cast<std::uint16_t>(s_.channels);
    p.family = static_cast<std::uint16_t>(family);
    p.chunk_base = s_.chunks;
    p.span = span;
    s_.phases.push_back(p);
  }

  void add_channel(std::uint32_t root, std::uint16_t up, std::uint16_t down, std::uint32_t weight) {
    const std::uint32_t all = weight * nodes_;
    const bool across = nodes_ > 1;
    const auto add_way = [&](Pattern pattern, std::uint16_t tree, Buffer source, Buffer work, Buffer result) {
      add(pattern, 0, all, source, work, result);
      s_.phases.back().given = tree;
      s_.phases.back().root = root;
    };
    const Buffer sums = gathers_ ? kOutput : kScratch;
    if (scatters_) add_way(Pattern::kTreeReduce, up, kInput, sums, across ? sums : kOutput);
    if (scatters_ && across) add(spec_.scatter, 1 + root, weight, places_ > 1 ? sums : kInput, sums, kOutput);
    if (gathers_ && across) add(spec_.gather, 1 + root, weight, scatters_ ? kOutput : kInput, kOutput, kOutput);
    if (gathers_) add_way(Pattern::kTreeBroadcast, down, scatters_ || across ? kOutput : kInput, kOutput, kOutput);
    s_.chunks += all;
    ++s_.channels;
  }

  /// Chunks are numbered by place, then tree, then node; the buffer is ordered by node, place and tree.
  void lay_out() {
    const std::uint32_t each = s_.chunks / spec_.ranks;
    s_.layout = {Axis{.extent = nodes_, .chunk_stride = places_ * each}, Axis{.extent = each, .chunk_stride = 1},
                 Axis{.extent = places_, .chunk_stride = each}};
  }

  const ForestSpec& spec_;
  std::uint32_t places_, nodes_;
  bool scatters_, gathers_;
  Schedule s_;
};

}  // namespace

Result<Schedule> build_forest(const ForestSpec& spec) { return ForestWriter(spec).write(); }

}  // namespace busbar::collectives
