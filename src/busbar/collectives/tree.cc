#include "busbar/collectives/builders.h"
#include "busbar/collectives/internal/legality.h"
#include "busbar/collectives/tree_shape.h"

namespace busbar::collectives {
namespace {

Schedule build_binomial(Collective op, std::uint32_t ranks, std::uint32_t root) {
  Schedule s;
  s.algorithm = "tree";
  s.op = op;
  s.ranks = s.chunks = ranks;
  s.root = root;
  s.families = {one_group(ranks)};
  const bool gather = op == Collective::kGather;
  s.phases = {phase_of(gather ? Pattern::kBinomialGather : Pattern::kBinomialScatter, Buffer::kInput, Buffer::kScratch,
                       Buffer::kOutput)};
  s.phases[0].root = root;
  return s;
}

}  // namespace

Result<Schedule> build_tree(Collective op, std::uint32_t ranks, std::uint32_t root) {
  BUSBAR_RETURN_IF_ERROR(check_ranks(ranks, root));
  const bool binomial = op == Collective::kGather || op == Collective::kScatter;
  if (binomial) return build_binomial(op, ranks, root);
  if (op != Collective::kAllReduce && op != Collective::kBroadcast && op != Collective::kReduce)
    return not_built("tree", op);
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
    p.pattern = op == Collective::kReduce ? Pattern::kTreeReduce : Pattern::kTreeBroadcast;
    s.phases.push_back(p);
  }
  return s;
}

Result<Schedule> build_tree(const ScheduleSpec& spec) { return build_tree(spec.op, spec.ranks, spec.root); }

}  // namespace busbar::collectives
