#include "busbar/collectives/builders.h"
#include "busbar/collectives/legality.h"
#include "busbar/collectives/tree_shape.h"

namespace busbar {

Result<Schedule> build_tree(Collective op, std::uint32_t ranks, std::uint32_t root) {
  BUSBAR_RETURN_IF_ERROR(check_ranks(ranks, root));
  if (op != Collective::kAllReduce && op != Collective::kBroadcast) return not_built("tree", op);
  Schedule s;
  s.algorithm = "tree";
  s.op = op;
  s.ranks = ranks;
  s.channels = 2;
  s.chunks = 2;
  s.root = root;
  s.families = {one_group(ranks)};
  for (std::uint16_t channel = 0; channel < 2; ++channel) {
    Phase p;
    p.channel = channel;
    p.chunk_base = channel;
    if (op == Collective::kAllReduce) {
      p.tree = static_cast<std::uint8_t>(channel);
      p.root = channel == 0 ? 0 : mate_root(ranks);
      p.pattern = Pattern::kTreeReduce;
      s.phases.push_back(p);
      p.source = Buffer::kOutput;
    } else {
      p.tree = channel == 0 ? 0 : 2;
      p.root = root;
    }
    p.pattern = Pattern::kTreeBroadcast;
    s.phases.push_back(p);
  }
  return s;
}

}  // namespace busbar
