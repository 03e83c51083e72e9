#include "busbar/nccl/system.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "busbar/nccl/internal/hosts.h"
#include "busbar/nccl/internal/nics.h"
#include "busbar/nccl/internal/paths.h"
#include "busbar/topology/seen_damage.h"

namespace busbar::nccl {

const char* name_of(NcclNodeKind kind) {
  constexpr const char* kNames[] = {"GPU", "PCI", "NVS", "CPU", "NIC", "NET"};
  return kNames[static_cast<std::size_t>(kind)];
}

namespace {

CpuType cpu_type(const topology::ProcessorIdentity& id) {
  CpuType out;
  out.arch = id.arch == "x86_64"  ? CpuArch::kX86
             : id.arch == "arm64" ? CpuArch::kArm
             : id.arch == "ppc64" ? CpuArch::kPower
                                  : CpuArch::kUnknown;
  out.vendor = id.vendor == "GenuineIntel"   ? CpuVendor::kIntel
               : id.vendor == "AuthenticAMD" ? CpuVendor::kAmd
               : id.vendor == "  Shanghai  " ? CpuVendor::kZhaoxin
                                             : CpuVendor::kUnknown;
  out.family = id.family;
  out.model = id.model;
  return out;
}

float pcie_of(const topology::LinkClass& c) {
  const int lanes = std::clamp<int>(c.lanes, 1, 16);
  return pcie_GBps(static_cast<double>(per_second(c.wire_rate)) * 8 / 1e9 / std::max<int>(c.lanes, 1), lanes);
}

/// Refuses accelerators of other libraries.
Status check_known(const topology::Topology& t, topology::DeviceId gpu) {
  const topology::DeviceClass& c = t.device_class(gpu);
  if (c.compute_capability > 0 || !c.architecture.empty()) return {};
  const auto is_ici = [](const topology::LinkClass& l) { return l.kind == topology::LinkKind::kIci; };
  const auto own = std::find_if(t.link_classes().begin(), t.link_classes().end(), is_ici);
  if (own != t.link_classes().end()) {
    const bool tpu = own->brand.empty();
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("on {} ({}) {} chooses, over {} links, and its choices are not published", t.name(gpu),
                    c.part.empty() ? "a chip" : c.part, tpu ? "XLA" : "the maker's library", tpu ? "ICI" : own->brand),
        {}};
  }
  return Error{ErrorCode::kUnsupported,
               fmt::format("NCCL and RCCL are not known to run on {} ({}no compute capability or architecture)",
                           t.name(gpu), c.part.empty() ? "" : fmt::format("{}: ", c.part)),
               {}};
}

/// Walks over the devices of one block and turns them into nodes and links.
class SystemBuilder {
 public:
  SystemBuilder(const topology::Topology& t, std::span<const topology::DeviceId> gpus,
                std::span<const std::uint32_t> ranks, bool inter, const NcclSettings& settings)
      : t_(t), gpus_(gpus), ranks_(ranks), settings_(settings), block_(t.blocks()[index(t.block_of(gpus[0]))]) {
    s_.inter = inter;
    node_of_.assign(block_.device_count, kNoNode);
    find_devices();
  }

  Result<NcclSystem> build() {
    BUSBAR_RETURN_IF_ERROR(add_gpus());
    add_switches_and_cpus();
    if (s_.inter) add_nets();
    s_.inter = !s_.nets.empty();
    for (const topology::DeviceId d : devices_) add_links(d);
    mesh_cpus();
    attach_unlinked();
    raise_links();
    sort_links();
    return std::move(s_);
  }

 private:
  static constexpr std::uint32_t kNoNode = UINT32_MAX;

  topology::DeviceId device(std::uint32_t place) const {
    return static_cast<topology::DeviceId>(block_.first_device + place);
  }
  bool inside(topology::DeviceId d) const {
    return index(d) >= block_.first_device && index(d) < block_.first_device + block_.device_count;
  }
  std::uint32_t& node_of(topology::DeviceId d) { return node_of_[index(d) - block_.first_device]; }

  /// Of a rack only the machines with a GPU in use belong to the communicator, and all switches. Machines of a rack are
  /// known by their CPUs: no socket link joins all of them, or they are Grace.
  void find_devices() {
    std::vector<topology::DeviceId> switches;
    bool arm = false;
    for (std::uint32_t p = 0; p < block_.device_count; ++p) {
      if (t_.kind(device(p)) == topology::DeviceKind::kNvSwitch) switches.push_back(device(p));
      arm = arm || (t_.kind(device(p)) == topology::DeviceKind::kCpu &&
                    cpu_type(t_.device_class(device(p)).processor).arch == CpuArch::kArm);
    }
    rack_ = !switches.empty() && (arm || is_several_machines(t_, block_));
    if (rack_) {
      const std::vector<topology::DeviceId> machines = devices_of_machines(t_, gpus_);
      std::merge(machines.begin(), machines.end(), switches.begin(), switches.end(), std::back_inserter(devices_));
      return;
    }
    for (std::uint32_t p = 0; p < block_.device_count; ++p) devices_.push_back(device(p));
  }

  std::uint32_t add(NcclNodeKind kind, topology::DeviceId d) {
    NcclNode n;
    n.kind = kind;
    n.device = d;
    s_.nodes.push_back(n);
    s_.out.emplace_back();
    return static_cast<std::uint32_t>(s_.nodes.size()) - 1;
  }

  Status add_gpus() {
    std::uint32_t dev = 0;
    for (std::uint32_t p = 0; p < block_.device_count; ++p) {
      if (t_.kind(device(p)) != topology::DeviceKind::kGpu) continue;
      const auto at = std::find(gpus_.begin(), gpus_.end(), device(p));
      if (at != gpus_.end()) {
        const topology::DeviceClass& c = t_.device_class(device(p));
        BUSBAR_RETURN_IF_ERROR(check_known(t_, device(p)));
        const std::uint32_t n = add(NcclNodeKind::kGpu, device(p));
        NcclNode& node = s_.nodes[n];
        node.compute_capability = c.compute_capability;
        node.rank = ranks_[static_cast<std::size_t>(at - gpus_.begin())];
        node.dev = dev;
        node_of(device(p)) = n;
        s_.gpus.push_back(n);
        s_.amd_gpus = s_.amd_gpus || !c.architecture.empty();
        s_.target = c.architecture;
        if (s_.least_capability == 0 || node.compute_capability < s_.least_capability)
          s_.least_capability = node.compute_capability;
      }
      ++dev;
    }
    if (s_.gpus.size() != gpus_.size()) return invalid("the graph of a node needs GPUs of one block");
    return {};
  }

  /// NCCL's CPU is a NUMA node.
  std::uint32_t cpu_of(int numa) {
    if (numa < 0) numa = 0;
    const auto at = cpu_of_numa_.find(numa);
    if (at != cpu_of_numa_.end()) return at->second;
    topology::DeviceId socket =
        kNone<topology::DeviceId>;  // the last with a number not above `numa`: a socket has its first node's
    for (const topology::DeviceId d : devices_)
      if (t_.kind(d) == topology::DeviceKind::kCpu && (socket == kNone<topology::DeviceId> || t_.numa(d) <= numa))
        socket = d;
    const std::uint32_t n = add(NcclNodeKind::kCpu, socket);
    s_.nodes[n].numa = numa;
    if (socket != kNone<topology::DeviceId>) s_.nodes[n].cpu = cpu_type(t_.device_class(socket).processor);
    s_.cpus.push_back(n);
    cpu_of_numa_[numa] = n;
    return n;
  }

  void add_switches_and_cpus() {
    for (const topology::DeviceId d : devices_) {
      const topology::DeviceKind k = t_.kind(d);
      if (k == topology::DeviceKind::kPcieSwitch && !has_upper_level(d)) node_of(d) = add(NcclNodeKind::kPci, d);
      if (k == topology::DeviceKind::kNvSwitch) {
        if (!s_.has_nvs()) s_.nvs = add(NcclNodeKind::kNvs, d);
        node_of(d) = s_.nvs;
      }
      if (k == topology::DeviceKind::kCpu || k == topology::DeviceKind::kRootPort) node_of(d) = cpu_of(t_.numa(d));
    }
    for (const topology::DeviceId d : devices_)
      if (t_.kind(d) == topology::DeviceKind::kPcieSwitch && has_upper_level(d)) node_of(d) = node_of(*upper_level(d));
    if (!s_.cpus.empty()) s_.cpu = s_.nodes[s_.cpus[0]].cpu;
  }

  /// NCCL takes two levels of one physical PCIe switch as one. Returns the upper level for a lower one.
  std::optional<topology::DeviceId> upper_level(topology::DeviceId d) const {
    if (!t_.device_class(d).lower_level) return std::nullopt;
    for (const topology::LinkId l : t_.out_links(d))
      if (t_.kind(t_.to(l)) == topology::DeviceKind::kPcieSwitch && !t_.device_class(t_.to(l)).lower_level)
        return t_.to(l);
    return std::nullopt;
  }
  bool has_upper_level(topology::DeviceId d) const { return upper_level(d).has_value(); }

  void add_nets() {
    std::map<std::int16_t, std::pair<std::uint32_t, std::uint32_t>> cards;  // by card: network device and ports so far
    for (const NicGroup& group : group_nics(t_, devices_, settings_)) {
      const topology::DeviceId d = group.ports.front();
      const std::uint32_t nic = add(NcclNodeKind::kNic, d), net = add(NcclNodeKind::kNet, d);
      for (const topology::DeviceId port : group.ports)
        if (port == d || group.sums_pcie) node_of(port) = nic;
      if (group.raised > 1) raised_.emplace_back(nic, group.raised);
      NcclNode& node = s_.nodes[net];
      for (const topology::DeviceId port : group.ports) node.net_GBps += static_cast<float>(cabled_GBps(t_, port));
      node.ports = group.ports;
      node.asic = net;
      if (const std::int16_t card = t_.template_device(d).card; card >= 0) {
        auto& [first, ports] = cards.try_emplace(card, net, 0).first->second;
        node.asic = first;
        node.port = ports++;
      }
      node.collnet = settings_.collnet;
      s_.nets.push_back(net);
      join(nic, net, NcclLinkKind::kNet, node.net_GBps);
    }
  }

  /// The PCIe link of a merged NIC counts twice, and twice again, until it reaches the link of a GPU.
  void raise_links() {
    float most = 0;
    for (const std::uint32_t g : s_.gpus)
      for (const std::uint32_t l : s_.out[g])
        if (s_.links[l].kind == NcclLinkKind::kPci) most = std::max(most, s_.links[l].GBps);
    for (const auto& [nic, times] : raised_)
      for (const std::uint32_t l : s_.out[nic]) {
        NcclLink& link = s_.links[l];
        if (link.kind != NcclLinkKind::kPci) continue;
        for (std::uint32_t left = times; left > 1 && link.GBps * 2 <= most; left /= 2)
          link.GBps = s_.links[link.reverse].GBps *= 2;
      }
  }

  void join(std::uint32_t a, std::uint32_t b, NcclLinkKind kind, float gigabytes_per_s) {
    if (a == b) return;
    for (const std::uint32_t l : s_.out[a]) {
      if (s_.links[l].to != b || s_.links[l].kind != kind) continue;
      s_.links[l].GBps += gigabytes_per_s;
      s_.links[s_.links[l].reverse].GBps += gigabytes_per_s;
      return;
    }
    const auto at = static_cast<std::uint32_t>(s_.links.size());
    s_.links.push_back({a, b, kind, gigabytes_per_s, at + 1});
    s_.links.push_back({b, a, kind, gigabytes_per_s, at});
    s_.out[a].push_back(at);
    s_.out[b].push_back(at + 1);
  }

  /// Whether a cable is added where it leaves in direction `l`: each once, those of a switch at the other end, because
  /// a switch also has cables to GPUs that are not in use. Pre: `l` does not leave a switch.
  bool adds(topology::LinkId l) const {
    if (!inside(t_.to(l))) return false;
    return t_.kind(t_.to(l)) == topology::DeviceKind::kNvSwitch || (static_cast<std::uint32_t>(l) & 1u) == 0;
  }

  void add_links(topology::DeviceId d) {
    if (t_.kind(d) == topology::DeviceKind::kNvSwitch) return;
    for (const topology::LinkId l : t_.out_links(d)) {
      if (!adds(l)) continue;
      const topology::LinkClass& c = t_.link_class(l);
      const std::uint32_t a = node_of(d), b = node_of(t_.to(l));
      switch (c.kind) {
        case topology::LinkKind::kNvlink:
        case topology::LinkKind::kXgmi:
          if (a == kNoNode || b == kNoNode) break;
          if (s_.amd_gpus && (is_cpu(a) || is_cpu(b)))  // RCCL reads the PCIe function of the link
            join(home(a, t_.to(l), d), home(b, d, t_.to(l)), NcclLinkKind::kPci, wire_GBps(c));
          else
            join(a, b, NcclLinkKind::kNvl, scale_up_GBps(a, b, c));
          break;
        case topology::LinkKind::kC2c:
          if (a != kNoNode && b != kNoNode) join(a, b, NcclLinkKind::kC2c, wire_GBps(c));
          break;
        case topology::LinkKind::kPcie:
          if (a == kNoNode || b == kNoNode) break;
          join(home(a, t_.to(l), d), home(b, d, t_.to(l)), NcclLinkKind::kPci,
               pcie_of(c) * static_cast<float>(topology::seen_share(t_, l)));
          break;
        default:
          break;  // sockets are meshed below; NCCL ignores NUMA nodes and drives
      }
    }
  }

  bool is_cpu(std::uint32_t n) const { return s_.nodes[n].kind == NcclNodeKind::kCpu; }
  static float wire_GBps(const topology::LinkClass& c) {
    return static_cast<float>(static_cast<double>(per_second(c.wire_rate)) / 1e9);
  }

  /// `node`; but for a CPU, the NUMA node to which the devices below its host bridge belong.
  std::uint32_t home(std::uint32_t node, topology::DeviceId below, topology::DeviceId socket) {
    return is_cpu(node) ? cpu_of(t_.numa(below) >= 0 ? t_.numa(below) : t_.numa(socket)) : node;
  }

  float scale_up_GBps(std::uint32_t a, std::uint32_t b, const topology::LinkClass& c) const {
    const auto lanes = static_cast<float>(std::max<int>(c.lanes, 1));
    if (c.kind == topology::LinkKind::kXgmi) return lanes * xgmi_GBps(s_.target);
    int cc = 1000;
    for (const std::uint32_t n : {a, b})
      if (s_.nodes[n].kind == NcclNodeKind::kGpu) cc = std::min(cc, s_.nodes[n].compute_capability);
    return lanes * nvlink_GBps(cc, settings_.version);
  }

  /// Links all NUMA nodes of one machine. Machines of a rack keep only their own links.
  void mesh_cpus() {
    if (!rack_) {
      for (std::size_t i = 0; i < s_.cpus.size(); ++i)
        for (std::size_t j = i + 1; j < s_.cpus.size(); ++j)
          join(s_.cpus[i], s_.cpus[j], NcclLinkKind::kSys, inter_cpu_GBps(s_.nodes[s_.cpus[i]].cpu, settings_.version));
      return;
    }
    for (const topology::DeviceId d : devices_)
      for (const topology::LinkId l : t_.out_links(d))
        if ((static_cast<std::uint32_t>(l) & 1u) == 0 && t_.link_class(l).kind == topology::LinkKind::kSocket)
          join(node_of(d), node_of(t_.to(l)), NcclLinkKind::kSys, inter_cpu_GBps(s_.cpu, settings_.version));
  }

  /// GPUs and NICs without a link are attached to their CPU, as NCCL does with virtual NICs.
  void attach_unlinked() {
    for (std::uint32_t n = 0; n < s_.nodes.size(); ++n) {
      const NcclNodeKind k = s_.nodes[n].kind;
      if (k != NcclNodeKind::kGpu && k != NcclNodeKind::kNic) continue;
      const bool linked = std::any_of(s_.out[n].begin(), s_.out[n].end(), [&](std::uint32_t l) {
        return s_.links[l].kind != NcclLinkKind::kNet && s_.links[l].kind != NcclLinkKind::kNvl;
      });
      if (!linked) join(n, cpu_of(t_.numa(s_.nodes[n].device)), NcclLinkKind::kPci, kNcclLocalGBps);
    }
  }

  void sort_links() {
    const auto rank = [&](std::uint32_t l) {
      switch (s_.links[l].kind) {
        case NcclLinkKind::kPci:
          return s_.nodes[s_.links[l].to].kind == NcclNodeKind::kCpu ||
                         s_.nodes[s_.links[l].to].kind == NcclNodeKind::kPci
                     ? 2
                     : 1;
        case NcclLinkKind::kSys:
          return 3;
        default:
          return 0;
      }
    };
    for (auto& row : s_.out)
      std::stable_sort(row.begin(), row.end(), [&](std::uint32_t a, std::uint32_t b) {
        if (rank(a) != rank(b)) return rank(a) < rank(b);
        return s_.links[a].GBps > s_.links[b].GBps;
      });
  }

  const topology::Topology& t_;
  std::span<const topology::DeviceId> gpus_;
  std::span<const std::uint32_t> ranks_;
  const NcclSettings& settings_;
  const topology::Block& block_;
  NcclSystem s_;
  bool rack_ = false;
  std::vector<topology::DeviceId> devices_;  ///< that belong to the communicator's machines, ascending
  std::vector<std::uint32_t> node_of_;
  std::map<int, std::uint32_t> cpu_of_numa_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> raised_;  ///< NIC, and how many times its PCIe link may count
};

}  // namespace

Result<NcclSystem> build_nccl_system(const topology::Topology& t, std::span<const topology::DeviceId> gpus,
                                     std::span<const std::uint32_t> ranks, bool inter, const NcclSettings& settings) {
  BUSBAR_CHECK(!gpus.empty() && gpus.size() == ranks.size()) << "every GPU has a rank";
  for (const topology::DeviceId g : gpus)
    if (t.block_of(g) != t.block_of(gpus[0])) return invalid("the graph of a node needs GPUs of one block");
  BUSBAR_RETURN_IF_ERROR(check_known(t, gpus[0]));
  if (gpus.size() > kMostNcclGpus)
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("NCCL supports at most {} ranks in one NVLink domain, here are {}", kMostNcclGpus, gpus.size()),
        {}};
  BUSBAR_ASSIGN(NcclSystem system, SystemBuilder(t, gpus, ranks, inter, settings).build());
  compute_nccl_paths(system, settings);
  return system;
}

}  // namespace busbar::nccl
