#include "busbar/accuracy/results_meaning.h"

#include <fmt/core.h>

#include <cmath>
#include <vector>

#include "busbar/base/text.h"
#include "busbar/predict/prediction.h"

namespace busbar::accuracy {
namespace {

struct Operation {
  collectives::Collective op;
  bool reduces, rooted;
};
constexpr Operation kOperations[] = {
    {collectives::Collective::kAllReduce, true, false},     {collectives::Collective::kAllGather, false, false},
    {collectives::Collective::kReduceScatter, true, false}, {collectives::Collective::kBroadcast, false, true},
    {collectives::Collective::kReduce, true, true},         {collectives::Collective::kAllToAll, false, false},
    {collectives::Collective::kGather, false, true},        {collectives::Collective::kScatter, false, true},
    {collectives::Collective::kSendRecv, false, false}};

/// A server by the names of its GPUs. Source of the names: CUDA's device property `name` and ROCm's product name, as in
/// the headers of nccl-tests and rccl-tests.
struct NamedServer {
  const char* product;
  std::uint32_t gpus;
  const char* preset;
};
constexpr NamedServer kServers[] = {{"V100-SXM2", 8, "dgx-1v"},
                                    {"V100-SXM3", 16, "dgx-2"},
                                    {"A100-SXM4-40GB", 8, "dgx-a100-40"},
                                    {"A100-SXM4-80GB", 8, "dgx-a100"},
                                    {"A100-SXM4-80GB", 4, "hgx-a100-4"},
                                    {"A800-SXM4", 8, "a800-8"},
                                    {"H100 80GB HBM3", 8, "dgx-h100"},
                                    {"H100 80GB HBM3", 4, "hgx-h100-4"},
                                    {"H800", 8, "h800-8"},
                                    {"H200 NVL", 8, "h200-nvl"},
                                    {"H200", 8, "dgx-h200"},
                                    {"H200", 4, "hgx-h200-4"},
                                    {"H20", 8, "h20-8"},
                                    {"GH200", 4, "gh200-4"},
                                    {"GH200", 1, "gh200-1"},
                                    {"B200", 8, "dgx-b200"},
                                    {"B300", 8, "dgx-b300"},
                                    {"GB200", 72, "gb200-nvl72"},
                                    {"GB300", 72, "gb300-nvl72"},
                                    {"GB10", 1, "dgx-spark"},
                                    {"MI300X", 8, "mi300x-8"},
                                    {"MI325X", 8, "mi325x-8"},
                                    {"MI350X", 8, "mi350x-8"},
                                    {"MI355X", 8, "mi355x-8"},
                                    {"A100 80GB PCIe", 4, "a100-pcie"},
                                    {"RTX 4090", 4, "rtx4090-pcie"},
                                    {"RTX 5090", 4, "rtx5090-pcie"}};

bool has_word(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return false;
  return at == 0 || text[at - 1] == ' ' || text[at - 1] == '-';
}

}  // namespace

Result<collectives::Collective> collective_of(const MeasuredResults& r, std::uint32_t ranks) {
  if (!r.collective.empty()) return collectives::parse_collective(r.collective);
  const double n = r.ranks != 0 ? r.ranks : ranks;
  constexpr double kRounding = 0.02;  // bandwidths are printed with two decimals
  std::vector<collectives::Collective> possible;
  for (const Operation& o : kOperations) {
    if (r.bus_per_algorithm <= 0 || n < 2) break;
    if (std::abs(predict::bus_factor(o.op, n) - r.bus_per_algorithm) > kRounding * r.bus_per_algorithm) continue;
    if (o.reduces != !r.reduction.empty() || o.rooted != (r.root >= 0)) continue;
    possible.push_back(o.op);
  }
  if (possible.size() == 1) return possible.front();
  std::string names;
  for (const collectives::Collective op : possible) append_word(names, collectives::name_of(op));
  const std::string known =
      names.empty() ? "" : fmt::format("; its busbw / algbw of {:.3g} is that of {}", r.bus_per_algorithm, names);
  return invalid(fmt::format("the results do not name their operation{}; add --collective {}", known,
                             names.empty() ? "all_reduce, or the one that was measured" : "with the right one"),
                 {"", 0, 0, "--collective"});
}

std::string proposed_cluster(const MeasuredResults& r) {
  if (r.hosts == 0 || r.ranks % r.hosts != 0) return {};
  for (const NamedServer& s : kServers) {
    const bool rack = s.gpus > 16;  // one domain of several hosts
    if (!has_word(r.product, s.product) || (rack ? r.ranks != s.gpus : r.ranks / r.hosts != s.gpus)) continue;
    return r.hosts > 1 && !rack ? fmt::format("{}:{}", s.preset, r.hosts) : s.preset;
  }
  return {};
}

Status check_product(const MeasuredResults& results, const spec::Cluster& cluster, const std::string& catalog) {
  const std::string preset = proposed_cluster(results);
  if (preset.empty()) return {};
  spec::Overrides catalog_only;
  catalog_only.catalog = catalog;
  const Result<spec::Cluster> named = spec::load_cluster(preset, catalog_only);
  if (!named.ok() || named->gpu_part == cluster.gpu_part || cluster.gpu_part.empty()) return {};
  return invalid(fmt::format("it was measured on {}, the machine has {}", named->gpu_part, cluster.gpu_part),
                 {"", 0, 0, "--cluster"});
}

}  // namespace busbar::accuracy
