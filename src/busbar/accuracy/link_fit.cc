#include "busbar/accuracy/link_fit.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "busbar/accuracy/results_meaning.h"
#include "busbar/accuracy/summary.h"
#include "busbar/routing/path_view.h"

namespace busbar::accuracy {
namespace {

using Kind = LinkTest::Kind;

/// The machine, at most two nodes of it, with more keys set.
class LinkMachine {
 public:
  static Result<LinkMachine> load(const std::string& name, spec::Overrides overrides,
                                  const std::vector<std::string>& set) {
    overrides.set.insert(overrides.set.end(), set.begin(), set.end());
    BUSBAR_ASSIGN(spec::Cluster cluster, spec::load_cluster(name, overrides));
    LinkMachine out;
    out.cluster_ = std::make_unique<spec::Cluster>(std::move(cluster));
    out.router_ = std::make_unique<routing::Router>(out.t(), out.cluster_->routing, out.cluster_->seed);
    return out;
  }
  const spec::Cluster& cluster() const { return *cluster_; }
  const topology::Topology& t() const { return cluster_->topology; }
  std::size_t nodes() const { return t().blocks().size(); }
  /// The first GPU of a node; nothing if it has none.
  std::optional<topology::DeviceId> gpu_of(std::uint32_t node) const {
    for (const topology::DeviceId d : t().gpus())
      if (index(t().block_of(d)) == node) return d;
    return {};
  }
  std::size_t gpus_of_first() const {
    return static_cast<std::size_t>(std::count_if(t().gpus().begin(), t().gpus().end(),
                                                  [&](topology::DeviceId d) { return index(t().block_of(d)) == 0; }));
  }
  /// The hardware's own path: no GPU passes data on.
  Result<routing::PathView> path(topology::DeviceId from, topology::DeviceId to) const {
    return routing::view_route(*router_, from, to, {cluster_->gpudirect, cluster_->p2p, false});
  }
  topology::DeviceId nic_of(topology::DeviceId gpu) const { return router_->nearest_nic(gpu, 0); }
  topology::DeviceId memory_of(topology::DeviceId gpu) const { return routing::nearest_memory(*router_, gpu); }
  const topology::LinkClass& limit_of(const routing::PathView& path) const { return t().link_class(path.bottleneck); }

 private:
  std::unique_ptr<spec::Cluster> cluster_;
  std::unique_ptr<routing::Router> router_;
};

/// What one test says about a figure.
struct Estimate {
  std::string what, unit;
  std::vector<std::string> keys;
  double before = 0, after = 0;
  double factor = 1;  ///< on a share of a rate; 1: `after` is the value of the key
  double share = 0;   ///< the efficiency that gives `after`; 0: `after` is the value of the key
  MeasuredAt at;
};

class LinkFitter {
 public:
  LinkFitter(const std::string& cluster, const spec::Overrides& overrides, LinkMachine machine)
      : cluster_(cluster), overrides_(overrides), machine_(std::move(machine)) {}

  LinkFit fit(const std::vector<LinkTest>& tests) {
    for (const LinkTest& test : tests) {
      CalibratedTable row{test.at.file, test.what, static_cast<std::uint32_t>(test.pairs.size()), 0, {}};
      if (test.pairs.empty()) row.ranks = 2;
      const Result<std::size_t> used = use(test);
      if (used.ok())
        row.used = *used;
      else
        row.unused.push_back({{}, used.error().message});
      out_.tables.push_back(std::move(row));
    }
    for (const auto& [key, estimates] : estimates_) take_median(estimates);
    return std::move(out_);
  }

 private:
  struct Pair {
    std::size_t from, to;
    double measured, modelled;
  };
  using Group = std::vector<Pair>;

  /// The number of figures that count. Error: why the test says nothing.
  Result<std::size_t> use(const LinkTest& test) {
    switch (test.kind) {
      case Kind::kPairRates:
        return use_pairs(test);
      case Kind::kHostCopiesBothWays:
        return use_both_ways(test);
      case Kind::kHostCopyLatency:
        return use_copy_latency(test);
      case Kind::kNicRate:
        return use_nic_rate(test);
      case Kind::kGpuNicRate:
        return use_gpu_nic_rate(test);
      case Kind::kNicLatency:
        return use_nic_latency(test);
      case Kind::kOther:
        break;
    }
    return unsupported(test.why);
  }

  Status check_gpus(const LinkTest& test) const {
    const std::size_t has = machine_.gpus_of_first();
    MeasuredResults gpus;
    gpus.product = test.product;
    gpus.ranks = static_cast<std::uint32_t>(test.pairs.size());
    gpus.hosts = 1;
    BUSBAR_RETURN_IF_ERROR(check_product(gpus, machine_.cluster(), overrides_.catalog));
    if (test.pairs.size() <= has) return {};
    return invalid(fmt::format("it is of {} GPUs, a node of the machine has {}", test.pairs.size(), has));
  }
  topology::DeviceId gpu(std::size_t n) const { return machine_.t().gpus()[n]; }
  Result<LinkMachine> with(const std::vector<std::string>& set) const {
    return LinkMachine::load(cluster_, overrides_, set);
  }

  /// Pairs by the link that limits them. Those through host memory are left out.
  Result<std::map<std::pair<topology::LinkKind, double>, Group>> groups_of(const LinkTest& test) const {
    std::map<std::pair<topology::LinkKind, double>, Group> out;
    for (std::size_t a = 0; a < test.pairs.size(); ++a)
      for (std::size_t b = 0; b < test.pairs.size(); ++b) {
        if (a == b || test.pairs[a][b] <= 0) continue;
        BUSBAR_ASSIGN(const routing::PathView way, machine_.path(gpu(a), gpu(b)));
        if (!way.copied_in.empty()) continue;
        const topology::LinkClass& limit = machine_.limit_of(way);
        out[{limit.kind, limit.efficiency}].push_back({a, b, test.pairs[a][b], way.payload_GBps});
      }
    return out;
  }

  /// Keys of links of the node that limit a pair of the group: slower ones make it slower.
  Result<std::vector<std::string>> limiting(const Group& group, double efficiency) const {
    constexpr double kSlower = 0.9;
    std::vector<std::string> keys;
    for (int i = 0; i < kMostLinks; ++i) {
      const std::string key = fmt::format("node.links[{}].efficiency", i);
      const Result<LinkMachine> slower = with({fmt::format("{}={:.6f}", key, kSlower * efficiency)});
      if (!slower.ok()) break;  // the last link was before
      for (const Pair& p : group) {
        BUSBAR_ASSIGN(const routing::PathView way, slower->path(gpu(p.from), gpu(p.to)));
        if (way.payload_GBps > p.modelled * (1 - 1e-6)) continue;
        keys.push_back(key);
        break;
      }
    }
    return keys;
  }

  Result<std::size_t> use_pairs(const LinkTest& test) {
    BUSBAR_RETURN_IF_ERROR(check_gpus(test));
    BUSBAR_ASSIGN(const auto groups, groups_of(test));
    if (groups.empty()) return unsupported("all pairs copy through host memory, at a fixed share of the rate of PCIe");
    std::size_t used = 0;
    std::string refused;
    for (const auto& [limit, group] : groups) {
      const Status done = use_group(test, limit.first, limit.second, group);
      if (done.ok())
        used += group.size();
      else
        refused = done.error().message;
    }
    if (used == 0) return unsupported(refused);
    return used;
  }

  Status use_group(const LinkTest& test, topology::LinkKind kind, double efficiency, const Group& group) {
    std::vector<double> measured, modelled, ratios;
    for (const Pair& p : group) {
      measured.push_back(p.measured);
      modelled.push_back(p.modelled);
      ratios.push_back(p.measured / p.modelled);
    }
    const double ratio = median_of(ratios);
    name_odd_pairs(test, group, ratio);
    BUSBAR_ASSIGN(std::vector<std::string> keys, limiting(group, efficiency));
    if (keys.empty()) return unsupported(fmt::format("no link of the node limits pairs over {}", name_of(kind)));
    return add({fmt::format("rate of {} between GPUs", name_of(kind)), "GB/s", std::move(keys), median_of(modelled),
                median_of(measured), ratio, ratio * efficiency, test.at});
  }

  void name_odd_pairs(const LinkTest& test, const Group& group, double ratio) {
    std::size_t odd = 0;
    const Pair* first = nullptr;
    for (const Pair& p : group) {
      const double off = p.measured / p.modelled / ratio;
      if (off <= kMostApart && off * kMostApart >= 1) continue;
      if (odd++ == 0) first = &p;
    }
    if (first == nullptr) return;
    out_.contradictions.push_back(fmt::format(
        "{} of {} pairs of GPUs are more than 25 % off the median of {}, the first GPU {} to GPU {} with {:.4g} "
        "GB/s; 'busbar localize' names the part",
        odd, group.size(), in_words(test.at), first->from, first->to, first->measured));
  }

  Result<std::size_t> use_nic_rate(const LinkTest& test) {
    BUSBAR_RETURN_IF_ERROR(check_nodes());
    const topology::DeviceId a = machine_.nic_of(*machine_.gpu_of(0)), b = machine_.nic_of(*machine_.gpu_of(1));
    if (a == kNone<topology::DeviceId> || b == kNone<topology::DeviceId>) return unsupported("its nodes have no NICs");
    BUSBAR_ASSIGN(const routing::PathView way, machine_.path(a, b));
    const double efficiency = machine_.limit_of(way).efficiency, ratio = test.value / way.payload_GBps;
    BUSBAR_RETURN_IF_ERROR(add({"rate of a NIC",
                                "GB/s",
                                {"fabric.link.efficiency"},
                                way.payload_GBps,
                                test.value,
                                ratio,
                                ratio * efficiency,
                                test.at}));
    return std::size_t{1};
  }

  Result<std::size_t> use_gpu_nic_rate(const LinkTest& test) {
    BUSBAR_RETURN_IF_ERROR(check_nodes());
    constexpr double kAsFast = 0.97;
    const topology::DeviceId a = *machine_.gpu_of(0), b = *machine_.gpu_of(1), memory = machine_.memory_of(a);
    BUSBAR_ASSIGN(const routing::PathView way, machine_.path(a, b));
    if (test.value >= kAsFast * way.payload_GBps)
      return unsupported("the path from a GPU to its NIC is no narrower than the network, as modelled");
    double wire_GBps = 0, payload_GBps = 0;
    for (const routing::PathHop& hop : way.hops)
      if (machine_.t().kind(machine_.t().to(hop.links[0].link)) == topology::DeviceKind::kNic && wire_GBps == 0)
        wire_GBps = hop.wire_GBps, payload_GBps = hop.payload_GBps;
    BUSBAR_ASSIGN(std::vector<std::string> keys, only_of_nics(a, b, memory));
    if (keys.empty() || wire_GBps == 0) return unsupported("no link of the node is on the way of its NICs alone");
    BUSBAR_RETURN_IF_ERROR(add({"rate from a GPU to its NIC", "GB/s", std::move(keys), payload_GBps, test.value,
                                test.value / way.payload_GBps, test.value / wire_GBps, test.at}));
    return std::size_t{1};
  }

  /// Keys of links that are on the way between GPUs of two nodes, but not on that to the GPU's host memory.
  Result<std::vector<std::string>> only_of_nics(topology::DeviceId a, topology::DeviceId b,
                                                topology::DeviceId memory) const {
    constexpr double kNarrow = 0.01;
    const auto rate = [&](const LinkMachine& m, topology::DeviceId to) {
      const Result<routing::PathView> way = m.path(a, to);
      return way.ok() ? way->payload_GBps : 0;
    };
    const bool has_memory = memory != kNone<topology::DeviceId>;
    const double network = rate(machine_, b), host = has_memory ? rate(machine_, memory) : 0;
    std::vector<std::string> keys;
    for (int i = 0; i < kMostLinks; ++i) {
      const std::string key = fmt::format("node.links[{}].efficiency", i);
      const Result<LinkMachine> narrow = with({fmt::format("{}={}", key, kNarrow)});
      if (!narrow.ok()) break;
      if (rate(*narrow, b) < network && (!has_memory || rate(*narrow, memory) >= host)) keys.push_back(key);
    }
    return keys;
  }

  Result<std::size_t> use_nic_latency(const LinkTest& test) {
    BUSBAR_RETURN_IF_ERROR(check_nodes());
    constexpr double kLeastUs = 0.1;
    const topology::DeviceId a = machine_.memory_of(*machine_.gpu_of(0)), b = machine_.memory_of(*machine_.gpu_of(1));
    if (a == kNone<topology::DeviceId> || b == kNone<topology::DeviceId>)
      return unsupported("the machine does not describe its host memories");
    BUSBAR_ASSIGN(const routing::PathView way, machine_.path(a, b));
    double nic_us = 0;
    for (const auto& [part, time] : way.latency_parts)
      if (part == "NIC") nic_us += time.in_us();
    if (nic_us == 0) return unsupported("the network states one latency for a cable, without a part for NICs");
    const double others_us = way.latency.in_us() - nic_us, left_us = test.value - others_us;
    if (left_us < kLeastUs) return use_short_latency(test, way, nic_us);
    BUSBAR_RETURN_IF_ERROR(add({"latency of a NIC", "us", {"fabric.nic.latency"}, nic_us, left_us, 1, 0, test.at}));
    return std::size_t{1};
  }

  /// Measured is less than slots, switches and cables take: what switches and cables leave is for NICs and the links of
  /// nodes, in the proportion that the machine has.
  Result<std::size_t> use_short_latency(const LinkTest& test, const routing::PathView& way, double nic_us) {
    constexpr double kLeastUs = 0.1;
    double fixed_us = 0, slots_us = 0;
    for (const auto& [part, time] : way.latency_parts)
      (part == "PCIe" || part == "sockets" || part == "scale-up" ? slots_us : fixed_us) += time.in_us();
    const double left_us = test.value - (fixed_us - nic_us), ratio = left_us / (nic_us + slots_us);
    if (left_us < kLeastUs || slots_us == 0)
      return unsupported(fmt::format("{:.3g} us leave no time for NICs and slots: switches and cables take {:.3g} us",
                                     test.value, fixed_us - nic_us));
    BUSBAR_RETURN_IF_ERROR(
        add({"latency of a NIC", "us", {"fabric.nic.latency"}, nic_us, nic_us * ratio, 1, 0, test.at}));
    BUSBAR_ASSIGN(const auto slots, latencies_between_memories(way.latency.in_us()));
    for (const auto& [key, us] : slots)
      BUSBAR_RETURN_IF_ERROR(add({"latency of a slot", "us", {key}, us, us * ratio, 1, 0, test.at}));
    return 1 + slots.size();
  }

  /// The links of the node on the way between host memories of two nodes, and the latency of each: the sum of the way
  /// with two other latencies of a link says how often it is crossed, and so what it has now.
  Result<std::vector<std::pair<std::string, double>>> latencies_between_memories(double now_us) const {
    constexpr double kLongUs = 10;
    const auto with_latency = [&](const std::string& key, double us) -> Result<double> {
      BUSBAR_ASSIGN(const LinkMachine m, with({fmt::format("{}={}us", key, us)}));
      BUSBAR_ASSIGN(const routing::PathView way, m.path(m.memory_of(*m.gpu_of(0)), m.memory_of(*m.gpu_of(1))));
      return way.latency.in_us();
    };
    std::vector<std::pair<std::string, double>> out;
    for (int i = 0; i < kMostLinks; ++i) {
      const std::string key = fmt::format("node.links[{}].latency", i);
      const Result<double> once = with_latency(key, kLongUs);
      if (!once.ok()) break;  // the last link was before
      BUSBAR_ASSIGN(const double twice, with_latency(key, 2 * kLongUs));
      const double crossings = (twice - *once) / kLongUs;
      if (crossings > 0.5) out.emplace_back(key, kLongUs - (*once - now_us) / crossings);
    }
    return out;
  }

  Result<std::size_t> use_copy_latency(const LinkTest& test) {
    BUSBAR_RETURN_IF_ERROR(check_copies(test));
    const topology::DeviceId memory = machine_.memory_of(gpu(0));
    if (memory == kNone<topology::DeviceId>) return unsupported("the machine does not describe its host memories");
    BUSBAR_ASSIGN(const routing::PathView there, machine_.path(gpu(0), memory));
    BUSBAR_ASSIGN(const routing::PathView back, machine_.path(memory, gpu(1)));
    const std::vector<double> figures = off_diagonal(test);
    const double us = median_of(figures) - (there.latency + back.latency).in_us();
    if (us <= 0) return unsupported("it is shorter than the latency of the links");
    BUSBAR_RETURN_IF_ERROR(add({"latency of a copy through host memory",
                                "us",
                                {"protocol.staged_copy"},
                                machine_.cluster().protocol.staged_copy.in_us(),
                                us,
                                1,
                                0,
                                test.at}));
    return figures.size();
  }

  Result<std::size_t> use_both_ways(const LinkTest& test) {
    BUSBAR_RETURN_IF_ERROR(check_copies(test));
    if (machine_.cluster().p2p)
      return unsupported(
          "GPUs of the machine reach each other directly, so collectives do not copy through host memory");
    const std::vector<double> figures = off_diagonal(test);
    const double left = std::min(1.0, median_of(figures));
    BUSBAR_RETURN_IF_ERROR(add({"what both directions of host copies leave of one",
                                "",
                                {"protocol.staged_both_ways"},
                                machine_.cluster().protocol.staged_both_ways,
                                left,
                                1,
                                0,
                                test.at}));
    return figures.size();
  }

  Status check_copies(const LinkTest& test) const {
    BUSBAR_RETURN_IF_ERROR(check_gpus(test));
    if (machine_.cluster().ideal) return unsupported("no costs of software are known for the GPUs of the machine");
    if (off_diagonal(test).empty()) return unsupported("it has no figure between two GPUs");
    return {};
  }
  static std::vector<double> off_diagonal(const LinkTest& test) {
    std::vector<double> out;
    for (std::size_t a = 0; a < test.pairs.size(); ++a)
      for (std::size_t b = 0; b < test.pairs.size(); ++b)
        if (a != b && test.pairs[a][b] > 0) out.push_back(test.pairs[a][b]);
    return out;
  }

  Status check_nodes() const {
    if (machine_.nodes() >= 2 && machine_.gpu_of(0) && machine_.gpu_of(1)) return {};
    return invalid("the machine has one node, and it was measured between two");
  }

  /// Error: a rate above the wire's.
  Status add(Estimate e) {
    if (e.share > 1)
      return invalid(fmt::format("{:.4g} GB/s are more than the {:.4g} GB/s of the wire: is it another machine?",
                                 e.after, e.after / e.share));
    if (e.factor < kBrokenRate && out_.broken.empty())
      out_.broken = fmt::format("{}: {} is {:.0f} % of what this machine gives when it is well; find the fault first",
                                in_words(e.at), e.what, 100 * e.factor);
    const std::string key = e.keys.front();
    estimates_[key].push_back(std::move(e));
    return {};
  }

  static std::string value_of(const Estimate& e) {
    if (e.share > 0) return fmt::format("{:.4f}", e.share);
    return e.unit == "us" ? fmt::format("{:.0f}ns", e.after * 1000) : fmt::format("{:.3f}", e.after);
  }
  static std::string source_key(const std::string& key) {
    const std::string map = key.substr(0, key.rfind('.'));
    if (key.ends_with(".efficiency")) return map + ".efficiency_source";
    return key.ends_with(".latency") ? map + ".latency_source" : std::string();
  }

  void take_median(std::vector<Estimate> all) {
    std::stable_sort(all.begin(), all.end(), [](const Estimate& a, const Estimate& b) { return a.after < b.after; });
    const Estimate& least = all.front();
    const Estimate& most = all.back();
    if (most.after > kMostApart * least.after)
      out_.contradictions.push_back(fmt::format("{}: {:.4g} {} in {}, {:.4g} {} in {}", least.what, least.after,
                                                least.unit, in_words(least.at), most.after, most.unit,
                                                in_words(most.at)));
    const Estimate& e = all[(all.size() - 1) / 2];
    std::string source = in_words(e.at);
    std::replace(source.begin(), source.end(), '"', '\'');
    std::replace(source.begin(), source.end(), '\\', '/');
    if (all.size() > 1) source += fmt::format(", the median of {} tests", all.size());
    for (const std::string& key : e.keys) {
      out_.set.push_back(key + "=" + value_of(e));
      if (const std::string at = source_key(key); !at.empty()) out_.set.push_back(fmt::format("{}=\"{}\"", at, source));
    }
    out_.figures.push_back({e.what, e.keys, e.unit, e.before, e.after, source});
  }

  static constexpr int kMostLinks = 1000;  ///< entries of a node
  const std::string& cluster_;
  const spec::Overrides& overrides_;
  LinkMachine machine_;
  LinkFit out_;
  std::map<std::string, std::vector<Estimate>> estimates_;  ///< by the first key
};

}  // namespace

Result<LinkFit> fit_links(const std::vector<LinkTest>& tests, const std::string& cluster,
                          const spec::Overrides& overrides) {
  BUSBAR_ASSIGN(LinkMachine machine, LinkMachine::load(cluster, overrides, {}));
  spec::Overrides few = overrides;
  if (machine.nodes() > 2 && few.nodes != 2) {
    few.nodes = 2;
    BUSBAR_ASSIGN(machine, LinkMachine::load(cluster, few, {}));
  }
  return LinkFitter(cluster, few, std::move(machine)).fit(tests);
}

}  // namespace busbar::accuracy
