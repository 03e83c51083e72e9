#include "busbar/choice/nccl_schedules.h"

#include <algorithm>

#include "busbar/collectives/builders.h"

namespace busbar {
namespace {

/// Distinct values in order of their first appearance, with how often each occurs.
template <typename T>
std::vector<std::pair<T, std::uint32_t>> counted(std::vector<T> values) {
  std::vector<std::pair<T, std::uint32_t>> out;
  for (T& v : values) {
    const auto it = std::find_if(out.begin(), out.end(), [&](const auto& e) { return e.first == v; });
    if (it == out.end())
      out.emplace_back(std::move(v), 1);
    else
      ++it->second;
  }
  return out;
}

/// Parents before children, as GivenTree wants them.
GivenTree given(const NcclTree& tree) {
  GivenTree out;
  std::uint32_t root = 0;
  while (root < tree.up.size() && tree.up[root] != kNoRank) ++root;
  out.position.push_back(root);
  out.parent.push_back(0);
  for (std::uint32_t node = 0; node < out.position.size(); ++node)
    for (const std::int32_t child : tree.down[out.position[node]])
      if (child != kNoRank) {
        out.position.push_back(static_cast<std::uint32_t>(child));
        out.parent.push_back(node);
      }
  return out;
}

/// n - 1 rings over n ranks that use every link of a full mesh in both directions exactly once, where a search of a few
/// steps finds them: 3, 5, 7, 8 and more, but not 4 and 6, for which there are none (Tillson, A Hamiltonian
/// decomposition of K*2m, 1980).
class MeshRings {
 public:
  static std::vector<std::vector<std::uint32_t>> of(std::uint32_t n) {
    constexpr std::uint32_t kMost = 16;
    MeshRings search(n);
    if (n < 3 || n > kMost || !search.next_ring()) return {};
    return search.rings_;
  }

 private:
  explicit MeshRings(std::uint32_t n) : n_(n), used_(std::size_t{n} * n, false) {}
  /// Ring k leaves rank 0 for rank k.
  bool next_ring() {
    const auto k = static_cast<std::uint32_t>(rings_.size()) + 1;
    if (k == n_) return true;
    rings_.push_back({0});
    if (go_to(k)) return true;
    rings_.pop_back();
    return false;
  }
  bool go_to(std::uint32_t v) {
    const std::uint32_t u = rings_.back().back();
    std::vector<bool>::reference used = used_[std::size_t{u} * n_ + v];
    if (used || --steps_ < 0) return false;
    used = true;
    if (v == 0) {
      if (next_ring()) return true;
    } else {
      rings_.back().push_back(v);
      if (go_on(v)) return true;
      rings_.back().pop_back();
    }
    used = false;
    return false;
  }
  bool go_on(std::uint32_t u) {
    if (rings_.back().size() == n_) return go_to(0);
    const std::size_t ring = rings_.size();
    for (std::uint32_t d = 1; d < n_; ++d) {
      const std::uint32_t v = (u + d) % n_;
      const auto& path = rings_[ring - 1];
      if (std::find(path.begin(), path.end(), v) == path.end() && go_to(v)) return true;
    }
    return false;
  }

  std::uint32_t n_;
  int steps_ = 100'000;
  std::vector<bool> used_;
  std::vector<std::vector<std::uint32_t>> rings_;
};

/// All ranks on one node of AMD GPUs with a link between every two.
bool is_amd_mesh(const NcclComm& comm) {
  if (comm.node_count() != 1 || !comm.shapes.front().system.amd_gpus) return false;
  const NcclSystem& s = comm.shapes.front().system;
  for (std::uint32_t a = 0; a < s.gpu_count(); ++a)
    for (std::uint32_t b = 0; b < s.gpu_count(); ++b)
      if (a != b && (s.gpu_gpu.at(a, b).type != PathType::kNvl || s.gpu_gpu.at(a, b).links.size() != 1)) return false;
  return true;
}

}  // namespace

Result<Schedule> NcclSchedules::rings(const CollectiveCall& call) const {
  ScheduleSpec spec;
  spec.algorithm = call.algorithm;
  spec.op = call.op;
  spec.ranks = comm_.ranks;
  spec.root = call.root;
  if (is_amd_mesh(comm_)) spec.orders = MeshRings::of(comm_.ranks);  // RCCL's fixed rings use all links of a mesh
  if (!spec.orders.empty()) return build_schedule(spec);
  for (std::uint32_t c = 0; c < comm_.channels; ++c) spec.orders.push_back(nccl_ring(comm_, c).order);
  auto distinct = counted(spec.orders);
  const bool alike =
      std::all_of(distinct.begin(), distinct.end(), [&](const auto& e) { return e.second == distinct.front().second; });
  if (alike) {
    spec.orders.clear();
    for (auto& [order, times] : distinct) spec.orders.push_back(std::move(order));
  }
  return build_schedule(spec);
}

Result<Schedule> NcclSchedules::trees(const CollectiveCall& call) const {
  std::vector<std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>> shapes;
  for (std::uint32_t c = 0; c < comm_.channels; ++c) {
    GivenTree tree = given(nccl_tree(comm_, c));
    shapes.emplace_back(std::move(tree.position), std::move(tree.parent));
  }
  std::vector<WeightedTree> trees;
  for (const auto& [shape, times] : counted(std::move(shapes)))
    trees.push_back({GivenTree{shape.first, shape.second}, times});
  return build_tree_packing(call.op, comm_.ranks, call.root, trees);
}

Result<CollectiveCall> NcclSchedules::over_channels(CollectiveCall call) {
  if (!traits_of(call.algorithm).takes_orders || call.root != 0 || call.groups.groups() != 1 ||
      call.groups.size() != comm_.ranks || comm_.channels == 0)
    return call;
  auto& schedule = made_[{call.algorithm, call.op}];
  if (!schedule) {
    BUSBAR_ASSIGN(const Schedule plain, build_schedule(call.algorithm, call.op, comm_.ranks, 1, call.root));
    const bool tree = !plain.phases.empty() && is_tree(plain.phases.front().pattern);
    if (tree && call.op != Collective::kAllReduce) return call;
    BUSBAR_ASSIGN(Schedule made, tree ? trees(call) : rings(call));
    schedule = std::make_shared<const Schedule>(std::move(made));
  }
  call.schedule = schedule;
  return call;
}

}  // namespace busbar
