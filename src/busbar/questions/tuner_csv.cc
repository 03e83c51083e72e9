#include "busbar/questions/tuner_csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "busbar/formats/import.h"
#include "busbar/formats/nccl_tuner.h"
#include "busbar/nccl/algorithms.h"

namespace busbar {
namespace {

/// Null: the tuner has no such algorithm.
const char* tuner_name(std::string_view algorithm, bool several_nodes) {
  switch (nccl_algorithm(algorithm).value_or(NcclAlgorithm::kPointToPoint)) {
    case NcclAlgorithm::kRing:
      return "ring";
    case NcclAlgorithm::kTree:
      return "tree";
    case NcclAlgorithm::kPat:
      return "pat";
    case NcclAlgorithm::kNvls:
      return several_nodes ? "nvls_tree" : "nvls";
    case NcclAlgorithm::kNvlsTree:
      return "nvls_tree";
    default:
      return nullptr;
  }
}

const char* tuner_name(Protocol protocol) {
  if (protocol == Protocol::kLl) return "ll";
  return protocol == Protocol::kLl128 ? "ll128" : "simple";
}

struct Pick {
  std::uint64_t size = 0;
  Duration time;
  std::string how;  ///< "ring,ll128"
};

/// Number of nodes on which the ranks of the call's first group run.
std::size_t nodes_of(const CollectiveCall& call, const Predictor& machine) {
  std::set<BlockId> nodes;
  for (std::uint32_t i = 0; i < call.groups.size(); ++i)
    nodes.insert(machine.cluster().topology.block_of(machine.placement().gpu(call.groups.actor(0, i))));
  return nodes.size();
}

}  // namespace

Result<std::string> tuner_csv(const Predictor& machine, const std::vector<Prediction>& rows) {
  const char* const op = tuner_name(rows.front().call.op);
  if (op == nullptr)
    return unsupported(fmt::format("NCCL's tuner has no {}", name_of(rows.front().call.op)), {"", 0, 0, "out"});
  const Topology& t = machine.cluster().topology;
  const std::size_t nodes = t.blocks().size();
  std::vector<Pick> picks;
  for (const Prediction& r : rows) {
    const char* const algorithm = tuner_name(r.algorithm, nodes > 1);
    if (algorithm == nullptr) continue;
    Pick pick{count(r.size()), r.time, fmt::format("{},{}", algorithm, tuner_name(r.protocol()))};
    if (picks.empty() || picks.back().size != pick.size)
      picks.push_back(std::move(pick));
    else if (pick.time < picks.back().time)
      picks.back() = std::move(pick);
  }
  if (picks.empty()) return unsupported("none of these algorithms is NCCL's; add --algorithm all", {"", 0, 0, "out"});
  const bool whole = machine.ranks() == t.gpus().size();
  std::string out = fmt::format("# {} over {} GPUs of {}, predicted by busbar\n", name_of(rows.front().call.op),
                                machine.ranks(), machine.cluster().name);
  out += "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n";
  for (std::size_t i = 0; i < picks.size();) {
    std::size_t next = i + 1;
    while (next < picks.size() && picks[next].how == picks[i].how) ++next;
    const std::uint64_t last = next < picks.size() ? picks[next].size - 1 : picks.back().size;
    out += fmt::format("{},{},{},{},-1,{},{}\n", op, picks[i].size, last, picks[i].how,
                       whole ? std::to_string(nodes) : "-1", machine.ranks());
    i = next;
  }
  return out;
}

bool names_tuner_file(const std::string& algorithm) {
  return algorithm.ends_with(".conf") || algorithm.ends_with(".csv");
}

Result<TunerPicks> read_tuner_file(const std::string& file) {
  BUSBAR_ASSIGN(ImportSource source, ImportSource::open(file));
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  return read_nccl_tuner(text, file);
}

Result<Prediction> time_as_picked(const TunerPicks& picks, CollectiveCall call, const TimeAsk& ask,
                                  Predictor& machine) {
  call.algorithm = "auto";
  const TunerPick* const pick =
      pick_for(picks, call.op, count(call.bytes), nodes_of(call, machine), call.groups.size());
  if (pick == nullptr) return machine.time(call, ask);
  CollectiveCall picked = call;
  std::string name = pick->algorithm;
  std::erase(name, '_');
  if (name.starts_with("collnet"))
    picked.algorithm = "sharp";
  else if (const auto known = nccl_algorithm(name))
    picked.algorithm = schedule_name(*known);
  if (!pick->protocol.empty()) {
    BUSBAR_ASSIGN(picked.protocol, parse_protocol(pick->protocol));
  }
  if (pick->channels > 0) picked.channels = static_cast<std::uint32_t>(pick->channels);
  Result<Prediction> row = machine.time(picked, ask);
  if (row.ok() || row.error().code != ErrorCode::kUnsupported) return row;
  return machine.time(call, ask);
}

}  // namespace busbar
