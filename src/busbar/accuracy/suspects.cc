#include "busbar/accuracy/suspects.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "busbar/topology/seen_damage.h"
#include "busbar/topology/selector.h"

namespace busbar::accuracy {
namespace {

const std::vector<double> kSlowOrDead{0.75, 0.5, 0.25, 0.1, 0};
const std::vector<double> kSlow{0.75, 0.5, 0.25, 0.1};

/// What a cable is to the people who would replace it.
struct CableWords {
  const char* rule;
  const char* words;
};

CableWords words_of_cable(const topology::LinkClass& c, topology::DeviceKind a, topology::DeviceKind b) {
  const auto has = [&](topology::DeviceKind k) { return a == k || b == k; };
  if (topology::is_scale_up(c.kind)) return {"slow-nvlink", "the links between a GPU and its switch or neighbour"};
  if (topology::is_fabric(c.kind) && has(topology::DeviceKind::kNic))
    return {"slow-cable", "a cable between a NIC and its switch"};
  if (topology::is_fabric(c.kind)) return {"slow-uplink", "a cable between two switches"};
  if (has(topology::DeviceKind::kNic))
    return {"slow-nic-slot", "the PCIe slot of a NIC (fewer lanes or an older generation)"};
  if (has(topology::DeviceKind::kGpu))
    return {"slow-gpu-slot", "the PCIe slot of a GPU (fewer lanes or an older generation)"};
  if (c.kind == topology::LinkKind::kSocket) return {"slow-socket-link", "the link between two sockets"};
  return {"slow-pcie-uplink", "the PCIe link between a switch and its CPU"};
}

CableWords words_of_device(topology::DeviceKind kind) {
  switch (kind) {
    case topology::DeviceKind::kGpu:
      return {"slow-gpu", "a GPU: all its links, or low clocks (power cap, heat)"};
    case topology::DeviceKind::kNic:
      return {"slow-nic", "a NIC: its cable and its slot"};
    case topology::DeviceKind::kNvSwitch:
      return {"slow-nvswitch", "a switch between GPUs: all its links"};
    default:
      return {"slow-switch", "a switch of the fabric: all its cables"};
  }
}

/// Storage, its slots and memory are not on the paths of collectives.
bool carries_collectives(const topology::Topology& t, topology::DeviceId d) {
  const topology::DeviceKind k = t.kind(d);
  if (k == topology::DeviceKind::kNvme || k == topology::DeviceKind::kNuma || k == topology::DeviceKind::kOcs)
    return false;
  if (k != topology::DeviceKind::kNic || t.blocks().size() < 2) return k != topology::DeviceKind::kNic;
  const auto links = t.out_links(d);
  return std::any_of(links.begin(), links.end(),
                     [&](topology::LinkId l) { return topology::is_fabric(t.link_class(l).kind); });
}

/// Equal parts, in order of their numbers.
struct PartClass {
  CableWords words;
  std::vector<std::string> parts;
};
using ClassKey = std::tuple<int, int, int, std::string, std::string>;

class Classes {
 public:
  void add(const ClassKey& key, CableWords words, std::string part) {
    const auto [at, fresh] = index_.try_emplace(key, all_.size());
    if (fresh) all_.push_back({words, {}});
    std::vector<std::string>& parts = all_[at->second].parts;
    if (parts.empty() || parts.back() != part) parts.push_back(std::move(part));
  }
  std::vector<Suspect> suspects() && {
    std::vector<Suspect> out;
    for (PartClass& c : all_) {
      const std::string part = c.parts[c.parts.size() / 2];
      const bool node = part.starts_with("node") && part.find('.') == std::string::npos;
      out.push_back({c.words.rule, c.words.words, part, c.parts, {part}, {}, node ? kSlow : kSlowOrDead});
      if (c.words.rule == std::string_view("slow-cable"))
        out.push_back({c.words.rule,
                       std::string(c.words.words) + ", of whose lower rate NCCL knows",
                       part,
                       std::move(c.parts),
                       {part + std::string(topology::kSeen)},
                       {},
                       kSlow});
    }
    return out;
  }

 private:
  std::map<ClassKey, std::size_t> index_;
  std::vector<PartClass> all_;
};

}  // namespace

std::vector<Suspect> single_parts(const topology::Topology& t) {
  Classes classes;
  const auto part_of = [&](topology::DeviceId d) { return t.device_class(d).part; };
  for (std::uint32_t b = 0; b < t.blocks().size() && t.blocks().size() > 1; ++b)
    classes.add({0, 0, 0, "", ""}, {"slow-node", "a node: all its links"}, fmt::format("node{}", b));
  for (std::uint32_t i = 0; i < t.device_count(); ++i) {
    const auto d = static_cast<topology::DeviceId>(i);
    const topology::DeviceKind k = t.kind(d);
    if (k == topology::DeviceKind::kCpu || k == topology::DeviceKind::kPcieSwitch ||
        k == topology::DeviceKind::kRootPort)
      continue;
    if (carries_collectives(t, d))
      classes.add({1, static_cast<int>(k), 0, part_of(d), ""}, words_of_device(k), t.name(d));
  }
  for (std::uint32_t i = 0; i < t.link_count(); i += 2) {
    const auto l = static_cast<topology::LinkId>(i);
    const topology::DeviceId a = t.from(l), b = t.to(l);
    if (t.failed(l) || !carries_collectives(t, a) || !carries_collectives(t, b)) continue;
    const int low = static_cast<int>(std::min(t.kind(a), t.kind(b))),
              high = static_cast<int>(std::max(t.kind(a), t.kind(b)));
    classes.add({2, low, high, t.link_class(l).part, topology::name_of(t.link_class(l).kind)},
                words_of_cable(t.link_class(l), t.kind(a), t.kind(b)), fmt::format("{}-{}", t.name(a), t.name(b)));
  }
  return std::move(classes).suspects();
}

std::vector<Suspect> whole_machine_faults(const spec::Cluster& cluster) {
  std::vector<Suspect> out;
  const auto setting = [&](const char* rule, std::string words, std::string variable) {
    out.push_back({rule, std::move(words), "", {}, {}, {std::move(variable)}});
  };
  if (cluster.topology.blocks().size() > 1) {
    out.push_back({"tcp-fallback",
                   "sockets instead of RDMA (no RDMA device in the container, NCCL_IB_DISABLE, plugin not "
                   "loaded)",
                   "",
                   {},
                   {"node*.nic*"},
                   {"NCCL_IB_DISABLE=1"},
                   {1, 0.5, 0.2, 0.08, 0.03}});
    setting("no-gpudirect", "no GPUDirect RDMA: payloads pass host memory (nvidia-peermem missing, ACS or IOMMU on)",
            "NCCL_NET_GDR_LEVEL=LOC");
    std::size_t nics = 0;
    for (const topology::TemplateDevice& d : cluster.topology.templates().front().devices)
      nics += d.device_class.kind == topology::DeviceKind::kNic && d.name.starts_with("nic");
    for (const auto& [kept, words] : {std::pair<std::size_t, const char*>{1, "one NIC of each node carries everything"},
                                      {nics / 2, "half of the NICs of each node carry everything"}}) {
      if (kept == 0 || kept >= nics) continue;
      Suspect s{"single-rail", words, "", {}, {}, {}, {0}};
      for (std::size_t n = kept; n < nics; ++n) s.slowed.push_back(fmt::format("node*.nic{}", n));
      out.push_back(std::move(s));
    }
    out.push_back({"fabric-misconfigured",
                   "all NICs slow (port speed, flow control, path MTU, routing between switches)",
                   "",
                   {},
                   {"node*.nic*"},
                   {},
                   {0.75, 0.5, 0.25, 0.1, 0.04}});
    out.push_back(
        {"over-subscribed-spine", "too few cables between leaf and spine", "", {}, {"leaf*-spine*"}, {}, kSlow});
    setting("nccl-setting", "NCCL_CROSS_NIC=0", "NCCL_CROSS_NIC=0");
  }
  // NCCL's multicast does not ask for P2P (src/transport/nvls.cc, ncclNvlsInit), but what stops peers stops it, too.
  out.push_back({"p2p-disabled",
                 "GPUs do not reach each other directly (NCCL_P2P_DISABLE, ACS or IOMMU on)",
                 "",
                 {},
                 {},
                 {"NCCL_P2P_DISABLE=1", "NCCL_NVLS_ENABLE=0"}});
  setting("nvls-off", "NVLS is not used (NCCL_NVLS_ENABLE=0, or the fabric manager lacks multicast)",
          "NCCL_NVLS_ENABLE=0");
  for (const char* variable : {"NCCL_ALGO=Ring", "NCCL_ALGO=Tree", "NCCL_PROTO=LL", "NCCL_PROTO=LL128",
                               "NCCL_MAX_NCHANNELS=1", "NCCL_MAX_NCHANNELS=2", "NCCL_MAX_NCHANNELS=4"})
    setting("nccl-setting", variable, variable);
  return out;
}

Status apply_suspect(const Suspect& s, double factor, spec::Cluster& cluster, predict::PredictPolicy& policy) {
  policy.env.insert(policy.env.end(), s.env.begin(), s.env.end());
  if (factor == 1 || s.slowed.empty()) return {};
  topology::TopologyBuilder builder(cluster.topology);
  for (const std::string& selector : s.slowed)
    BUSBAR_RETURN_IF_ERROR(factor == 0 ? topology::fail_cables(builder, selector)
                                       : topology::degrade_cables(builder, selector, factor));
  cluster.topology = std::move(builder).seal();
  return {};
}

std::string flags_of(const Suspect& s, double factor) {
  std::string out;
  const auto add = [&](const std::string& word) { out += (out.empty() ? "" : " ") + word; };
  for (const std::string& variable : s.env) add("--env " + variable);
  for (const std::string& selector : s.slowed) {
    if (factor == 0) add(fmt::format("--fail '{}'", selector));
    if (factor <= 0 || factor >= 1) continue;
    const bool seen = selector.ends_with(topology::kSeen);
    add(fmt::format("--degrade '{}={:.2g}{}'",
                    selector.substr(0, selector.size() - (seen ? topology::kSeen.size() : 0)), factor,
                    seen ? topology::kSeen : ""));
  }
  return out;
}

}  // namespace busbar::accuracy
