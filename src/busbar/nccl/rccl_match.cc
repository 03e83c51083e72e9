#include "busbar/nccl/internal/rccl_match.h"

#include <algorithm>
#include <cmath>

#include "busbar/base/id.h"
#include "busbar/nccl/internal/rccl_models.h"

namespace busbar::nccl {
namespace {

std::uint32_t digit(char c) { return static_cast<std::uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// Number of xGMI links between every two GPUs, row by row.
std::vector<std::uint32_t> widths_of(const NcclSystem& s) {
  const std::uint32_t n = s.gpu_count();
  std::vector<std::uint32_t> out(std::size_t{n} * n, 0);
  for (std::uint32_t a = 0; a < n; ++a)
    for (const std::uint32_t l : s.out[s.gpus[a]]) {
      if (s.links[l].kind != NcclLinkKind::kNvl) continue;
      const auto b = std::find(s.gpus.begin(), s.gpus.end(), s.links[l].to);
      if (b != s.gpus.end())
        out[a * n + static_cast<std::size_t>(b - s.gpus.begin())] =
            static_cast<std::uint32_t>(std::lround(s.links[l].GBps / xgmi_GBps(s.target)));
    }
  return out;
}

/// The properties of a node that are compared with a model.
struct NodeFigures {
  std::uint32_t neighbours = 0;  ///< largest number of neighbours of a GPU
  std::vector<std::uint32_t> widths;
  std::vector<std::uint32_t> numa_of_gpu, numa_of_net;  ///< indices of NUMA nodes in ascending order
  std::string pattern;
};

/// Index of the nearest CPU.
template <typename Path>
std::uint32_t nearest_numa(const std::vector<std::uint32_t>& place, const Path& to_cpu) {
  std::uint32_t best = 0;
  for (std::uint32_t c = 1; c < place.size(); ++c)
    if (to_cpu(c).links.size() < to_cpu(best).links.size()) best = c;
  return place.empty() ? 0 : place[best];
}

NodeFigures figures_of(const NcclSystem& s) {
  NodeFigures out;
  out.widths = widths_of(s);
  for (std::uint32_t a = 0; a < s.gpu_count(); ++a) {
    const auto row = out.widths.begin() + std::size_t{a} * s.gpu_count();
    const auto none = std::count(row, row + s.gpu_count(), 0u);
    out.neighbours = std::max(out.neighbours, s.gpu_count() - static_cast<std::uint32_t>(none));
  }
  std::vector<std::uint32_t> place(s.cpus.size());
  for (std::size_t c = 0; c < s.cpus.size(); ++c)
    place[c] = static_cast<std::uint32_t>(std::count_if(s.cpus.begin(), s.cpus.end(), [&](std::uint32_t other) {
      return s.nodes[other].numa < s.nodes[s.cpus[c]].numa;
    }));
  out.pattern.assign(2 * s.cpus.size(), '0');
  for (std::uint32_t g = 0; g < s.gpu_count(); ++g) {
    out.numa_of_gpu.push_back(nearest_numa(place, [&](std::uint32_t c) -> auto& { return s.gpu_cpu.at(g, c); }));
    if (!s.cpus.empty()) ++out.pattern[2 * out.numa_of_gpu.back()];
  }
  for (std::uint32_t n = 0; n < s.net_count(); ++n) {
    out.numa_of_net.push_back(nearest_numa(place, [&](std::uint32_t c) -> auto& { return s.net_cpu.at(n, c); }));
    if (!s.cpus.empty()) ++out.pattern[2 * out.numa_of_net.back() + 1];
  }
  return out;
}

/// The NUMA node of each of a model's GPUs (`side` 0) or NICs (`side` 1).
std::vector<std::uint32_t> model_numa(const RcclModel& m, std::size_t side) {
  std::vector<std::uint32_t> out;
  for (std::size_t n = 0; 2 * n + side < m.pattern.size(); ++n)
    out.insert(out.end(), static_cast<std::size_t>(m.pattern[2 * n + side] - '0'), static_cast<std::uint32_t>(n));
  return out;
}

/// How closely a node must match a model.
struct Rule {
  bool same_order = true;  ///< GPUs have the model's numbers
  bool same_numa = true;   ///< NUMA nodes are compared even if the model does not require it
};

/// Looks for a numbering of the node's GPUs and NICs with which it matches the model.
class Matching {
 public:
  Matching(const NcclSystem& s, const NodeFigures& node, const RcclModel& model, Rule rule)
      : s_(s),
        node_(node),
        m_(model),
        same_order_(rule.same_order),
        same_numa_(rule.same_numa || !model.options.any_numa),
        widths_(words_of(model.widths)),
        near_(words_of(model.options.near)) {
    gpus.assign(m_.gpus, kNone32);
    nets.assign(m_.nics, kNone32);
    for (const std::size_t side : {0u, 1u}) numa_[side] = model_numa(m_, side);
  }

  bool found() {
    if (m_.gpus != s_.gpu_count() || m_.nics != s_.net_count() || m_.links != node_.neighbours) return false;
    const bool counts = m_.numa == s_.cpus.size() && m_.pattern == node_.pattern;
    if (same_numa_ && !counts) return false;
    if (!m_.options.any_cpu && s_.cpu.vendor != CpuVendor::kAmd) return false;
    return place_gpu(0);
  }

  std::vector<std::uint32_t> gpus, nets;  ///< per number in the model, the number in the node

 private:
  bool place_gpu(std::uint32_t k) {
    if (k == m_.gpus) return place_net(0);
    for (std::uint32_t g = 0; g < m_.gpus; ++g) {
      if (same_order_ && g != k) continue;
      if (std::find(gpus.begin(), gpus.begin() + k, g) != gpus.begin() + k || !gpu_fits(k, g)) continue;
      gpus[k] = g;
      if (place_gpu(k + 1)) return true;
    }
    return false;
  }
  /// NUMA nodes are compared by which GPUs share one, not by their numbers.
  bool gpu_fits(std::uint32_t k, std::uint32_t g) const {
    for (std::uint32_t j = 0; j < k; ++j) {
      if (digit(widths_[k][j]) != node_.widths[std::size_t{g} * m_.gpus + gpus[j]]) return false;
      const bool together = node_.numa_of_gpu[g] == node_.numa_of_gpu[gpus[j]];
      if (same_numa_ && together != (numa_[0][k] == numa_[0][j])) return false;
    }
    return true;
  }

  bool place_net(std::uint32_t k) {
    if (k == m_.nics) return true;
    for (std::uint32_t n = 0; n < m_.nics; ++n) {
      if (std::find(nets.begin(), nets.begin() + k, n) != nets.begin() + k || !net_fits(k, n)) continue;
      nets[k] = n;
      if (place_net(k + 1)) return true;
    }
    return false;
  }
  bool net_fits(std::uint32_t k, std::uint32_t n) const {
    for (std::uint32_t j = 0; j < m_.gpus; ++j) {
      const bool together = node_.numa_of_net[n] == node_.numa_of_gpu[gpus[j]];
      if (same_numa_ && together != (numa_[1][k] == numa_[0][j])) return false;
      if (near_.empty()) continue;
      const topology::PathType type = s_.gpu_net.at(gpus[j], n).type;
      const bool near = near_[k].find(static_cast<char>('0' + j)) != std::string_view::npos;
      if (type != topology::PathType::kPxn && near != (type <= topology::PathType::kPxb)) return false;
    }
    return true;
  }

  const NcclSystem& s_;
  const NodeFigures& node_;
  const RcclModel& m_;
  const bool same_order_, same_numa_;
  std::vector<std::string_view> widths_, near_;
  std::vector<std::uint32_t> numa_[2];
};

/// Adds a channel: "entry:order:exit", or an order only, which enters by the NIC of its index and leaves by the next.
void add_channel(std::string_view text, const Matching& is, NcclGraph& g) {
  std::uint32_t in = g.channels, out = g.channels + 1;
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    const std::size_t second = text.find(':', colon + 1);
    const auto number = [](std::string_view t) { return t.size() == 1 ? digit(t[0]) : digit(t[0]) * 10 + digit(t[1]); };
    in = number(text.substr(0, colon));
    out = number(text.substr(second + 1));
    text = text.substr(colon + 1, second - colon - 1);
  }
  for (const char c : text) g.intra.push_back(is.gpus[digit(c)]);
  if (const auto nets = static_cast<std::uint32_t>(is.nets.size()); nets > 0)
    for (const std::uint32_t n : {in, out}) g.inter.push_back(is.nets[n % nets]);
  ++g.channels;
}

/// The rings of the strings once; with rails, every repetition is rotated by `step` more.
NcclGraph graph_of(std::string_view rings, const RcclModel& model, const Matching& is, std::size_t step) {
  NcclGraph g;
  g.gpus = model.gpus;
  const std::vector<std::string_view> base = words_of(rings);
  for (std::size_t k = 0; k < model.options.times; ++k)
    for (std::size_t j = 0; j < base.size(); ++j)
      add_channel(base[model.options.rails != nullptr ? (j + step * k) % base.size() : j], is, g);
  return g;
}

/// Sets the bandwidth and the worst types along the channels.
void rate(const NcclSystem& s, NcclPattern pattern, NcclGraph& g) {
  g.pattern = pattern;
  g.min_channels = g.max_channels = g.channels;
  g.intra_GBps = g.inter_GBps = s.total_GBps / static_cast<float>(g.channels);
  g.intra_type = topology::PathType::kLoc;
  g.inter_type = topology::PathType::kPix;
  const std::uint32_t hops = pattern == NcclPattern::kRing && !s.inter ? g.gpus : g.gpus - 1;
  const std::uint32_t last = pattern == NcclPattern::kRing ? g.gpus - 1 : 1;
  for (std::uint32_t c = 0; c < g.channels; ++c) {
    for (std::uint32_t i = 0; i < hops; ++i)
      g.intra_type = std::max(g.intra_type, s.gpu_gpu.at(g.gpu(c, i), g.gpu(c, (i + 1) % g.gpus)).type);
    if (g.inter.empty()) continue;
    for (const auto& [gpu, net] : {std::pair(g.gpu(c, 0), g.net(c, 0)), std::pair(g.gpu(c, last), g.net(c, 1))})
      g.inter_type = std::max(g.inter_type, s.gpu_net.at(gpu, net).type);
  }
}

void take(const NcclSystem& s, const NcclSettings& settings, const RcclModel& model, const Matching& is,
          NcclGraphs& graphs) {
  const RcclModel::Rails* rails = model.options.rails;
  RcclMatch match;
  match.number = model.number;
  match.index = static_cast<std::uint32_t>(&model - rccl_models().data());
  match.tuning = model.options.tuning;
  match.ll128 = model.options.ll128;
  match.rail_trees = settings.rccl_rail_trees && rails != nullptr && !rails->trees.empty();
  graphs.ring = graph_of(model.rings, model, is, 1);
  graphs.tree = match.rail_trees ? graph_of(rails->trees, model, is, 2) : graphs.ring;
  if (rails != nullptr) {
    match.last = graph_of(rails->last, model, is, 1);
    match.before_last = graph_of(rails->before_last, model, is, 1);
  }
  rate(s, NcclPattern::kRing, graphs.ring);
  rate(s, NcclPattern::kBalancedTree, graphs.tree);
  graphs.rccl = std::move(match);
}

}  // namespace

void match_rccl_model(const NcclSystem& s, const NcclSettings& settings, NcclGraphs& graphs) {
  const NodeFigures node = figures_of(s);
  for (const Rule rule : {Rule{true, true}, Rule{true, false}, Rule{false, true}, Rule{false, false}})
    for (const RcclModel& model : rccl_models())
      if (Matching is(s, node, model, rule); is.found()) {
        if (!model.rings.empty()) take(s, settings, model, is, graphs);
        return;
      }
}

}  // namespace busbar::nccl
