#include "busbar/questions/tuner_csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "busbar/formats/import.h"
#include "busbar/formats/nccl_tuner.h"
#include "busbar/nccl/algorithms.h"

namespace busbar::questions {
namespace {

/// Null: the tuner has no such algorithm.
const char* tuner_name(std::string_view algorithm, bool several_nodes) {
  switch (nccl::nccl_algorithm(algorithm).value_or(nccl::NcclAlgorithm::kPointToPoint)) {
    case nccl::NcclAlgorithm::kRing:
      return "ring";
    case nccl::NcclAlgorithm::kTree:
      return "tree";
    case nccl::NcclAlgorithm::kPat:
      return "pat";
    case nccl::NcclAlgorithm::kNvls:
      return several_nodes ? "nvls_tree" : "nvls";
    case nccl::NcclAlgorithm::kNvlsTree:
      return "nvls_tree";
    default:
      return nullptr;
  }
}

const char* tuner_name(program::Protocol protocol) {
  if (protocol == program::Protocol::kLl) return "ll";
  return protocol == program::Protocol::kLl128 ? "ll128" : "simple";
}

struct Pick {
  std::uint64_t size = 0;
  Duration time;
  std::string how;  ///< "ring,ll128"
};

/// Number of nodes on which the ranks of the call's first group run.
std::size_t nodes_of(const program::CollectiveCall& call, const predict::Predictor& machine) {
  std::set<topology::BlockId> nodes;
  for (std::uint32_t i = 0; i < call.groups.size(); ++i)
    nodes.insert(machine.cluster().topology.block_of(machine.placement().gpu(call.groups.actor(0, i))));
  return nodes.size();
}

}  // namespace

Result<std::string> tuner_csv(const predict::Predictor& machine, const std::vector<predict::Prediction>& rows) {
  const char* const op = formats::tuner_name(rows.front().call.op);
  if (op == nullptr)
    return unsupported(fmt::format("NCCL's tuner has no {}", collectives::name_of(rows.front().call.op)),
                       {"", 0, 0, "out"});
  const topology::Topology& t = machine.cluster().topology;
  const std::size_t nodes = t.blocks().size();
  std::vector<Pick> picks;
  for (const predict::Prediction& r : rows) {
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
  std::string out = fmt::format("# {} over {} GPUs of {}, predicted by busbar\n",
                                collectives::name_of(rows.front().call.op), machine.ranks(), machine.cluster().name);
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

Result<formats::TunerPicks> read_tuner_file(const std::string& file) {
  BUSBAR_ASSIGN(formats::ImportSource source, formats::ImportSource::open(file));
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  return formats::read_nccl_tuner(text, file);
}

Result<predict::Prediction> time_as_picked(const formats::TunerPicks& picks, program::CollectiveCall call,
                                           const predict::TimeAsk& ask, predict::Predictor& machine) {
  call.algorithm = "auto";
  const formats::TunerPick* const pick =
      formats::pick_for(picks, call.op, count(call.bytes), nodes_of(call, machine), call.groups.size());
  if (pick == nullptr) return machine.time(call, ask);
  program::CollectiveCall picked = call;
  std::string name = pick->algorithm;
  std::erase(name, '_');
  if (name.starts_with("collnet"))
    picked.algorithm = "sharp";
  else if (const auto known = nccl::nccl_algorithm(name))
    picked.algorithm = nccl::schedule_name(*known);
  if (!pick->protocol.empty()) {
    BUSBAR_ASSIGN(picked.protocol, program::parse_protocol(pick->protocol));
  }
  if (pick->channels > 0) picked.channels = static_cast<std::uint32_t>(pick->channels);
  Result<predict::Prediction> row = machine.time(picked, ask);
  if (row.ok() || row.error().code != ErrorCode::kUnsupported) return row;
  return machine.time(call, ask);
}

}  // namespace busbar::questions
