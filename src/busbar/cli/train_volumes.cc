#include "busbar/cli/train_volumes.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/quantity.h"
#include "busbar/predict/prediction.h"
#include "busbar/topology/levels.h"

namespace busbar {
namespace {

/// The links that a group's ranks need, from its first group. Rank r is on GPU r.
std::string level_of(const GroupFamily& groups, const Topology& t, std::uint32_t domain) {
  const auto gpu = [&](std::uint32_t member) { return groups.actor(0, member); };
  if (std::max(gpu(0), gpu(groups.size() - 1)) >= t.gpus().size()) return "host memory";  // offload
  bool one_domain = true, one_node = true;
  for (std::uint32_t m = 1; m < groups.size(); ++m) {
    one_domain = one_domain && gpu(m) / domain == gpu(0) / domain;
    one_node = one_node && t.block_of(t.gpus()[gpu(m)]) == t.block_of(t.gpus()[gpu(0)]);
  }
  return domain > 1 && one_domain ? "scale-up links" : one_node ? "inside a node" : "network";
}

/// Sent by one GPU, as a factor of S.
const char* law(Collective op) {
  switch (op) {
    case Collective::kAllReduce:
      return "2 (n-1)/n S";
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
      return "(n-1)/n S";
    default:
      return "S from one rank";
  }
}

}  // namespace

double sent_by_group(Collective op, double n) {
  switch (op) {
    case Collective::kAllReduce:
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return n * bus_factor(op, n);
    case Collective::kAllToAllV:  // as if every member sent as much as the busiest
    case Collective::kBroadcast:
    case Collective::kReduce:
      return n - 1;
    default:
      return bus_factor(op, n);
  }
}

namespace {

/// What all members of a group send to others, as a factor of S.
double sent_by_call(const CollectiveCall& c) {
  const std::uint32_t n = c.groups.size();
  if (c.op != Collective::kAllToAllV || c.pairs.begin.empty()) return sent_by_group(c.op, n);
  std::uint64_t most = 1, away = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    most = std::max<std::uint64_t>(most, c.pairs.begin[i * n + n] - c.pairs.begin[i * n]);
    away += c.pairs.begin[i * n + n] - c.pairs.begin[i * n] - c.pairs.count(n, i, i);
  }
  return static_cast<double>(away) / static_cast<double>(most);
}

}  // namespace

std::vector<Volume> step_volumes(const TrainRun& run) {
  const Topology& t = run.cluster().topology;
  const std::uint32_t domain = std::max(1u, scale_up_domain(t).gpus);
  std::vector<Volume> out;
  for (const CallUse& u : run.step.calls) {
    const CollectiveCall& c = run.program.calls[index(u.call)];
    const double n = c.groups.size(), groups = c.groups.groups(), count_of = static_cast<double>(u.count);
    const std::string level = level_of(c.groups, t, domain);
    auto at = std::find_if(out.begin(), out.end(), [&](const Volume& v) {
      return v.cls == u.cls && v.op == c.op && v.ranks == c.groups.size() && v.level == level;
    });
    if (at == out.end()) at = out.insert(out.end(), {u.cls, c.op, c.groups.size(), 0, 0, level});
    at->calls_per_gpu += count_of * groups * n / run.layout.ranks();
    at->bytes_per_gpu += count_of * groups * sent_by_call(c) * static_cast<double>(count(c.bytes)) / run.layout.ranks();
  }
  std::stable_sort(out.begin(), out.end(), [](const Volume& a, const Volume& b) {
    return a.cls != b.cls ? a.cls < b.cls : a.bytes_per_gpu > b.bytes_per_gpu;
  });
  return out;
}

Table volume_table(const std::vector<Volume>& volumes) {
  Table t{"What a GPU sends in one step (mean)",
          {{"purpose", Align::kLeft},
           {"collective", Align::kLeft},
           {"ranks"},
           {"calls"},
           {"GB"},
           {"law", Align::kLeft},
           {"over", Align::kLeft}}};
  for (const Volume& v : volumes)
    t.rows.push_back({name_of(v.cls), name_of(v.op), std::to_string(v.ranks), format_number(v.calls_per_gpu),
                      fmt::format("{:.3g}", v.bytes_per_gpu / 1e9), law(v.op), v.level});
  return t;
}

Json volume_json(const std::vector<Volume>& volumes) {
  Json out = Json::array();
  for (const Volume& v : volumes)
    out.push_back({{"class", name_of(v.cls)},
                   {"collective", name_of(v.op)},
                   {"ranks", v.ranks},
                   {"calls_per_gpu", v.calls_per_gpu},
                   {"bytes_per_gpu", v.bytes_per_gpu},
                   {"law", law(v.op)},
                   {"level", v.level}});
  return out;
}

}  // namespace busbar
