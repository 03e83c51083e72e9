#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "busbar/formats/internal/gpu_naming.h"
#include "busbar/formats/internal/machine_records.h"
#include "busbar/formats/internal/part_links.h"

namespace busbar::formats::machine_records {
namespace {

constexpr std::uint32_t kNvSwitchClass = 0x068000, kCpuClass = 0x068001;
constexpr std::uint32_t kNoPlace = static_cast<std::uint32_t>(-1);

/// Whether the name is valid in selectors and files.
bool is_word(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

class MachineBuilder {
 public:
  MachineBuilder(Records records, const topology::PartFigures& figures)
      : records_(std::move(records)), parts_(figures) {
    out_.version = records_.version;
    out_.unknown = std::move(records_.unknown);
    place_.assign(records_.all.size(), kNoPlace);
  }

  Result<ImportedMachine> build(const std::string& name) {
    node_.name = name;
    BUSBAR_RETURN_IF_ERROR(add_cpus());
    add_devices();
    join_sockets();
    join_pcie();
    join_gpus();
    seal();
    return std::move(out_);
  }

 private:
  Record& record(std::size_t i) { return records_.all[i]; }
  std::size_t root_of(std::size_t i) const {
    while (records_.all[i].parent != kNoParent) i = records_.all[i].parent;
    return i;
  }

  /// "0000:17:00.0" as a number, digit by digit; kNoBusId if it is missing or too long.
  static std::uint64_t number_of(const std::string& bus_id) {
    constexpr int kHex = 16;
    std::string digits = bus_id;
    std::erase_if(digits, [](char c) { return c == ':' || c == '.'; });
    std::uint64_t out = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), out, kHex);
    const bool whole = !digits.empty() && read.ec == std::errc() && read.ptr == digits.data() + digits.size();
    return whole ? out : topology::TemplateDevice::kNoBusId;
  }

  std::uint32_t add(topology::DeviceClass c, std::string name, int numa, ImportedDevice said) {
    constexpr int kMostNuma = 1023;
    names_.insert(name);
    const auto local = static_cast<std::int16_t>(numa >= 0 && numa <= kMostNuma ? numa : -1);
    node_.devices.push_back({std::move(c), std::move(name), local, -1, number_of(said.bus_id)});
    out_.devices.push_back(std::move(said));
    return static_cast<std::uint32_t>(node_.devices.size() - 1);
  }

  /// By host in order of appearance, then by NUMA node.
  Status add_cpus() {
    std::map<std::string, std::size_t> hosts;
    for (std::size_t i = 0; i < records_.all.size(); ++i) {
      if (record(i).kind != RecordKind::kCpu) continue;
      hosts.try_emplace(record(i).said.host, hosts.size());
      cpus_.push_back(i);
      if (cpus_.size() > kMostCpus)
        return invalid(fmt::format("more than {} cpu elements", kMostCpus), record(i).where);
    }
    if (cpus_.empty()) return invalid("a topology file has at least one cpu element", {node_.name, 0, 0, "system"});
    std::stable_sort(cpus_.begin(), cpus_.end(), [&](std::size_t a, std::size_t b) {
      const ImportedDevice &x = record(a).said, &y = record(b).said;
      return std::tuple(hosts.at(x.host), x.numa_id) < std::tuple(hosts.at(y.host), y.numa_id);
    });
    for (std::size_t n = 0; n < cpus_.size(); ++n) {
      const Record& r = record(cpus_[n]);
      topology::DeviceClass c;
      c.kind = topology::DeviceKind::kCpu;
      c.processor = r.processor;
      place_[cpus_[n]] = add(std::move(c), fmt::format("cpu{}", n), r.said.numa_id, r.said);
    }
    return {};
  }

  /// GPUs, NVSwitches, PCIe switches, NICs, drives, in this order.
  void add_devices() {
    std::map<topology::DeviceKind, std::vector<std::size_t>> of_kind;
    for (std::size_t i = 0; i < records_.all.size(); ++i) {
      const Record& r = record(i);
      if (r.kind != RecordKind::kPci) continue;
      if (const auto kind = kind_of(r)) {
        of_kind[*kind].push_back(i);
      } else if (r.said.pci_class != kNvSwitchClass) {  // these become devices if a link names them
        add_unknown(out_.unknown, r.where.line,
                    r.said.pci_class == 0 ? std::string("pci without class or children")
                                          : fmt::format("pci of class 0x{:06x}", r.said.pci_class));
      }
    }
    add_gpus(of_kind[topology::DeviceKind::kGpu]);
    add_nvswitches();
    add_plain(of_kind[topology::DeviceKind::kPcieSwitch], topology::DeviceKind::kPcieSwitch, "pcie");
    add_nics(of_kind[topology::DeviceKind::kNic]);
    add_plain(of_kind[topology::DeviceKind::kNvme], topology::DeviceKind::kNvme, "nvme");
  }

  int numa_of(std::size_t i) { return record(root_of(i)).said.numa_id; }

  void add_plain(const std::vector<std::size_t>& list, topology::DeviceKind kind, const char* stem) {
    for (std::size_t n = 0; n < list.size(); ++n) {
      topology::DeviceClass c;
      c.kind = kind;
      c.lower_level = is_lower_level(list[n]);
      place_[list[n]] = add(std::move(c), fmt::format("{}{}", stem, n), numa_of(list[n]), record(list[n]).said);
    }
  }

  /// Broadcom's switches of PCIe 4 and 5 appear as two levels with one id (nccl-topo of 8 x H100; NCCL merges them).
  bool is_two_level(std::size_t i) {
    const std::uint32_t id = record(i).said.pci_id;
    return id == 0x1000'c010u || id == 0x1000'c030u;
  }
  bool is_lower_level(std::size_t i) {
    const std::size_t up = record(i).parent;
    return is_two_level(i) && record(i).children > 0 && up != kNoParent &&
           record(up).said.pci_id == record(i).said.pci_id && !is_lower_level(up);
  }

  void add_gpus(std::vector<std::size_t> list) {
    const auto last = [](int n) { return n < 0 ? INT32_MAX : n; };  // devices without a number come last
    std::stable_sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
      const ImportedDevice &x = record(a).said, &y = record(b).said;
      return std::tuple(last(x.rank), last(x.dev)) < std::tuple(last(y.rank), last(y.dev));
    });
    for (std::size_t n = 0; n < list.size(); ++n) {
      Record& r = record(list[n]);
      topology::DeviceClass c = r.product.empty()
                                    ? parts_.gpu(r.said.pci_id, r.architecture.empty() ? r.said.sm : -1, r.architecture)
                                    : parts_.product(r.product);
      place_[list[n]] = add(std::move(c), fmt::format("gpu{}", n), numa_of(list[n]), r.said);
      gpu_of_bus_[r.said.bus_id].push_back(list[n]);
      if (!r.has_gpu)
        add_note("GPUs without a gpu element: NCCL fills in their NVLinks on the live machine, here they have none");
    }
    gpus_ = std::move(list);
  }

  bool is_switch_target(const LinkRecord& l) const {
    return l.target_class == kNvSwitchClass || (l.target_class == 0 && l.target.starts_with("fffffff:"));
  }

  void add_nvswitches() {
    bool reduces = false;
    for (const std::size_t g : gpus_) {
      reduces = reduces || node_.devices[place_[g]].device_class.compute_capability >= 90;  // NCCL: NVLS since 9.0
      for (const LinkRecord& l : record(g).links)
        if (l.kind == LinkRecord::Kind::kNvlink && is_switch_target(l)) nvswitches_.try_emplace(l.target, 0);
    }
    std::size_t n = 0;
    for (auto& [bus, place] : nvswitches_) {
      topology::DeviceClass c;
      c.kind = topology::DeviceKind::kNvSwitch;
      c.reduces = reduces;
      ImportedDevice said;
      said.bus_id = bus;
      said.pci_class = kNvSwitchClass;
      place = add(std::move(c), fmt::format("nvswitch{}", n++), -1, std::move(said));
    }
  }

  void add_nics(std::vector<std::size_t> list) {
    const auto first_dev = [&](std::size_t i) {
      int dev = INT32_MAX;
      for (const ImportedPort& p : record(i).ports)
        if (p.dev >= 0) dev = std::min(dev, p.dev);
      return dev;
    };
    std::stable_sort(list.begin(), list.end(), [&](auto a, auto b) { return first_dev(a) < first_dev(b); });
    for (std::size_t n = 0; n < list.size(); ++n) {
      Record& r = record(list[n]);
      std::string name = r.ports.empty() ? "" : r.ports.front().name;
      if (!is_word(name) || names_.contains(name)) name = fmt::format("nic{}", n);
      while (names_.contains(name)) name += "_";
      topology::DeviceClass c;
      c.kind = topology::DeviceKind::kNic;
      place_[list[n]] = add(std::move(c), std::move(name), numa_of(list[n]), r.said);
    }
    nics_ = std::move(list);
    number_cards();
  }

  /// The functions of one PCI device are the ports of one card.
  void number_cards() {
    constexpr int kFunctionBits = 4;
    std::map<std::pair<std::string, std::uint64_t>, std::int16_t> cards;
    for (const std::size_t n : nics_) {
      topology::TemplateDevice& device = node_.devices[place_[n]];
      if (device.bus_id == topology::TemplateDevice::kNoBusId) continue;
      const std::pair card{record(root_of(n)).said.host, device.bus_id >> kFunctionBits};
      device.card = cards.try_emplace(card, static_cast<std::int16_t>(cards.size())).first->second;
    }
  }

  void link(std::uint32_t a, std::uint32_t b, topology::LinkClass c) { node_.links.push_back({a, b, std::move(c)}); }

  void join_sockets() {
    for (std::size_t i = 0; i < cpus_.size(); ++i)
      for (std::size_t j = i + 1; j < cpus_.size(); ++j) {
        const Record &a = record(cpus_[i]), &b = record(cpus_[j]);
        if (a.said.host == b.said.host) link(place_[cpus_[i]], place_[cpus_[j]], parts_.socket(a.processor));
      }
  }

  /// The nearest device above, skipping records that are no device.
  std::uint32_t above(std::size_t i) {
    for (std::size_t p = record(i).parent; p != kNoParent; p = record(p).parent)
      if (place_[p] != kNoPlace) return place_[p];
    return kNoPlace;
  }

  void join_pcie() {
    for (std::size_t i = 0; i < records_.all.size(); ++i) {
      const Record& r = record(i);
      if (r.kind != RecordKind::kPci || place_[i] == kNoPlace) continue;
      const bool virtual_nic = r.said.bus_id.empty();
      link(place_[i], above(i), virtual_nic ? parts_.without_wire("virtual") : parts_.pcie(r.link_speed, r.link_width));
      for (const LinkRecord& l : r.links) {
        if (l.kind != LinkRecord::Kind::kPciLink) continue;
        const std::uint32_t peer = place_of_bus(l.target);
        if (peer == kNoPlace) {
          absent(l);
        } else if (place_[i] < peer) {  // both ends name each other
          link(place_[i], peer, parts_.without_wire("pcilink"));
        }
      }
    }
  }

  std::uint32_t place_of_bus(const std::string& bus) {
    if (bus_.empty())
      for (std::size_t i = 0; i < records_.all.size(); ++i) bus_.try_emplace(record(i).said.bus_id, place_[i]);
    const auto at = bus_.find(bus);
    return at == bus_.end() ? kNoPlace : at->second;
  }

  void absent(const LinkRecord& l) {
    add_unknown(out_.unknown, l.where.line, fmt::format("link to {}, which is not in this file", l.target));
  }

  void join_gpus() {
    using Pair = std::pair<std::uint32_t, std::uint32_t>;
    std::map<Pair, std::pair<std::int64_t, std::int64_t>> peers;  // lanes seen from the lower and the higher index
    std::map<Pair, topology::LinkClass> lane_of;
    for (const std::size_t g : gpus_) {
      const std::uint32_t from = place_[g];
      const std::uint32_t cpu = place_[root_of(g)];
      const topology::DeviceClass& c = node_.devices[from].device_class;
      std::map<std::pair<std::uint32_t, topology::LinkKind>, std::int64_t> lanes, rate_of;
      for (const LinkRecord& l : record(g).links) {
        if (l.kind == LinkRecord::Kind::kPciLink) continue;
        if (l.kind == LinkRecord::Kind::kC2c) {
          link(from, cpu, parts_.c2c(l.MBps, l.count));
          continue;
        }
        const topology::LinkKind kind =
            l.kind == LinkRecord::Kind::kXgmi ? topology::LinkKind::kXgmi : topology::LinkKind::kNvlink;
        const std::uint32_t to = peer_of(g, l, cpu);
        if (to == kNoPlace)
          absent(l);
        else if (to != from)
          lanes[{to, kind}] += l.count, rate_of[{to, kind}] = l.MBps;
      }
      for (const auto& [target, count] : lanes) {
        const auto [to, kind] = target;
        const Pair pair{std::min(from, to), std::max(from, to)};
        auto& counts = peers[pair];
        (from < to ? counts.first : counts.second) += count;
        lane_of.try_emplace(pair, parts_.scale_up_lane(c, kind, rate_of[{to, kind}]));
      }
    }
    for (const auto& [pair, counts] : peers)
      link(pair.first, pair.second, parts_.times(lane_of[pair], std::max(counts.first, counts.second)));
  }

  /// The GPU with this bus id, on the same host first; an NVSwitch; the CPU above.
  std::uint32_t peer_of(std::size_t gpu, const LinkRecord& l, std::uint32_t cpu) {
    if (const auto at = nvswitches_.find(l.target); at != nvswitches_.end() && is_switch_target(l)) return at->second;
    if (l.target_class == kCpuClass) return cpu;
    const auto at = gpu_of_bus_.find(l.target);
    if (at == gpu_of_bus_.end()) return kNoPlace;
    for (const std::size_t g : at->second)
      if (record(root_of(g)).said.host == record(root_of(gpu)).said.host) return place_[g];
    return place_[at->second.front()];
  }

  void seal() {
    topology::TopologyBuilder builder;
    const auto nics = nics_;
    const std::uint32_t index = builder.add_template(std::move(node_));
    const topology::BlockId block = builder.add_block(index);
    topology::DeviceId network = kNone<topology::DeviceId>;
    for (const std::size_t i : nics) {
      const Record& r = record(i);
      const topology::DeviceId nic = builder.device(block, place_[i]);
      for (ImportedPort p : r.ports) {
        p.nic = nic;
        if (p.speed_mbps > 0) {
          if (network == kNone<topology::DeviceId>) {
            topology::DeviceClass c;
            c.kind = topology::DeviceKind::kSwitch;
            network = builder.add_switch(std::move(c), "network");
          }
          const bool infiniband = r.said.pci_class >> 8 == 0x0207;
          builder.connect(nic, network, parts_.cable(infiniband, p.speed_mbps));
        } else {
          add_note("ports without a speed have no cable; NCCL would count 10,000 Mb/s");
        }
        out_.ports.push_back(std::move(p));
      }
    }
    std::stable_sort(out_.ports.begin(), out_.ports.end(),
                     [](const ImportedPort& a, const ImportedPort& b) { return a.dev < b.dev; });
    out_.topology = std::move(builder).seal();
    for (const std::string& note : parts_.notes()) add_note(note);
    if (out_.unnamed.empty()) out_.unnamed = parts_.unnamed();
  }

  void add_note(const std::string& note) {
    if (std::find(out_.notes.begin(), out_.notes.end(), note) == out_.notes.end()) out_.notes.push_back(note);
  }

  Records records_;
  PartLinks parts_;
  topology::NodeTemplate node_;
  ImportedMachine out_;
  std::set<std::string> names_;
  std::vector<std::uint32_t> place_;  ///< per record: its index in node_.devices
  std::vector<std::size_t> cpus_, gpus_, nics_;
  std::map<std::string, std::vector<std::size_t>> gpu_of_bus_;
  std::map<std::string, std::uint32_t> nvswitches_, bus_;
};

}  // namespace

std::optional<topology::DeviceKind> kind_of(const Record& r) {
  const std::uint32_t base = r.said.pci_class >> 16, sub = r.said.pci_class >> 8;
  if (r.has_gpu || base == 0x03 || base == 0x12) return topology::DeviceKind::kGpu;
  if (r.has_nic || base == 0x02) return topology::DeviceKind::kNic;
  if (sub == 0x0108) return topology::DeviceKind::kNvme;
  if (sub == 0x0604 || sub == 0x0801 || r.children > 0) return topology::DeviceKind::kPcieSwitch;
  return std::nullopt;
}

Result<ImportedMachine> build_machine(Records records, const topology::PartFigures& figures, const std::string& name) {
  BUSBAR_ASSIGN(GpuNaming naming, name_gpus(records, figures, name));
  BUSBAR_ASSIGN(ImportedMachine out, MachineBuilder(std::move(records), figures).build(name));
  out.notes.insert(out.notes.begin(), naming.notes.begin(), naming.notes.end());
  if (!naming.unnamed.empty()) out.unnamed = std::move(naming.unnamed);
  return out;
}

}  // namespace busbar::formats::machine_records
