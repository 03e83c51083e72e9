#include "busbar/formats/internal/hwloc_xml.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "busbar/base/xml.h"
#include "busbar/formats/internal/machine_records.h"
#include "busbar/formats/lines.h"

namespace busbar::formats {
namespace {

using namespace machine_records;

constexpr std::size_t kMostPairs = 1 << 20;
constexpr std::uint32_t kBridge = 0x060400, kNvSwitch = 0x068000;

std::string info(const XmlElement& e, std::string_view name) {
  for (const XmlElement& child : e.children())
    if (child.tag() == "info" && child.find("name") == name) return std::string(child.find("value").value_or(""));
  return {};
}

int small_number(std::string_view text) {
  int n = 0;
  LineCursor(text).integer(n, 0, (1 << 20) - 1);
  return n;
}

/// hwloc gives GB/s after line coding; NCCL uses GT/s and lanes. Takes the slowest generation that fits. Source: PCI
/// Express: 8b/10b up to 5 GT/s, 128b/130b up to 32, then 242B/256B flits.
std::pair<std::string, std::int64_t> link_of(double GBps) {
  for (const double GTps : {2.5, 5.0, 8.0, 16.0, 32.0, 64.0})
    for (const std::int64_t lanes : {1, 2, 4, 8, 16}) {
      const double share = GTps <= 5 ? 0.8 : GTps <= 32 ? 128.0 / 130 : 242.0 / 256;
      if (std::abs(GTps * share * static_cast<double>(lanes) / 8 - GBps) < 0.01 * GBps)
        return {fmt::format("{:.1f} GT/s PCIe", GTps), lanes};
    }
  return {"", 0};
}

class HwlocReader {
 public:
  Result<Records> read(const XmlElement& topology) {
    out_.version = 1;
    version_3_ = topology.find("version").value_or("").starts_with("3");
    for (const XmlElement& e : topology.children())
      if (e.tag() == "object") BUSBAR_RETURN_IF_ERROR(find_numa(e, topology::ProcessorIdentity()));
    if (out_.all.empty()) add_cpu(0, topology::ProcessorIdentity(), topology);
    for (const XmlElement& e : topology.children()) {
      if (e.tag() == "object") {
        BUSBAR_RETURN_IF_ERROR(walk(e, 0));
      } else if (e.tag() == "distances2" || e.tag() == "distances2hetero") {
        BUSBAR_RETURN_IF_ERROR(read_distances(e));
      } else if (e.tag() != "support" && e.tag() != "info" && e.tag() != "cpukind" && e.tag() != "memattr" &&
                 e.tag() != "pci_locality") {
        add_unknown(out_.unknown, e.where().line, fmt::format("element {}", e.tag()));
      }
    }
    return std::move(out_);
  }

 private:
  void add_cpu(int numa, const topology::ProcessorIdentity& processor, const XmlElement& e) {
    Record r;
    r.kind = RecordKind::kCpu;
    r.said.numa_id = numa;
    r.processor = processor;
    r.said.family = processor.family;
    r.said.model = processor.model;
    r.where = e.where();
    cpu_of_.try_emplace(numa, out_.all.size());
    out_.all.push_back(std::move(r));
  }

  Status find_numa(const XmlElement& e, topology::ProcessorIdentity processor) {
    const std::string_view type = e.find("type").value_or("");
    if (type == "Machine" || type == "System") arch_ = info(e, "Architecture");
    if (type == "Package" || type == "Socket") processor = processor_of(e);
    if (type == "NUMANode") {
      BUSBAR_ASSIGN(const int numa, e.integer_or("os_index", 0, 0, 1 << 20));
      if (processor.vendor.empty()) processor = processor_below(e);
      if (cpu_of_.size() >= kMostCpus) return e.error(fmt::format("more than {} NUMA nodes", kMostCpus));
      if (!cpu_of_.contains(numa)) add_cpu(numa, processor, e);
    }
    for (const XmlElement& child : e.children())
      if (child.tag() == "object") BUSBAR_RETURN_IF_ERROR(find_numa(child, processor));
    return {};
  }

  topology::ProcessorIdentity processor_of(const XmlElement& package) const {
    topology::ProcessorIdentity p;
    p.vendor = info(package, "CPUVendor");
    p.family = small_number(info(package, "CPUFamilyNumber"));
    p.model = small_number(info(package, "CPUModelNumber"));
    const bool x86 = p.vendor == "GenuineIntel" || p.vendor == "AuthenticAMD";
    p.arch = !arch_.empty() ? arch_ : x86 ? "x86_64" : "";
    if (p.arch == "aarch64") p.arch = "arm64";
    if (p.arch.starts_with("ppc64") || info(package, "CPUModel").starts_with("POWER")) p.arch = "ppc64";
    return p;
  }
  /// In version 1, packages are below NUMA nodes.
  topology::ProcessorIdentity processor_below(const XmlElement& numa) const {
    for (const XmlElement& child : numa.children()) {
      const std::string_view type = child.find("type").value_or("");
      if (type == "Package" || type == "Socket") return processor_of(child);
    }
    return {};
  }

  /// The record of the first NUMA node in a nodeset, "0x00000002" or "0x1,0x0"; `otherwise` if there is none.
  std::size_t cpu_of(const XmlElement& e, std::size_t otherwise) const {
    const std::string_view set = e.find("nodeset").value_or("");
    std::size_t word = static_cast<std::size_t>(std::count(set.begin(), set.end(), ','));
    int first = -1;
    LineCursor c(set);
    for (std::uint64_t bits = 0; c.hexadecimal(bits); --word) {
      for (int b = 0; b < 32; ++b)
        if (bits >> b & 1) {
          first = static_cast<int>(word) * 32 + b;
          break;
        }
      if (!c.accept(",") || word == 0) break;
    }
    const auto at = cpu_of_.find(first);
    return at == cpu_of_.end() ? otherwise : at->second;
  }

  Status walk(const XmlElement& e, std::size_t parent) {
    const std::string_view type = e.find("type").value_or("");
    std::size_t below = parent;
    if (type == "Bridge" || type == "PCIDev") {
      if (e.find("pci_busid")) {
        BUSBAR_ASSIGN(below, add_pci(e, type == "Bridge", parent));
      }
    } else if (type == "OSDev") {
      add_os_device(e, parent);
    } else if (out_.all[parent].kind == RecordKind::kCpu) {
      below = cpu_of(e, parent);
    }
    if (const auto gp = e.find("gp_index"); gp && out_.all[below].kind == RecordKind::kPci)
      by_gp_.try_emplace(std::string(*gp), below);
    for (const XmlElement& child : e.children())
      if (child.tag() == "object") BUSBAR_RETURN_IF_ERROR(walk(child, below));
    return {};
  }

  /// "0302 [10de:1db8] [10de:131d] a1 00": class, device, subsystem.
  Result<std::size_t> add_pci(const XmlElement& e, bool bridge, std::size_t parent) {
    Record r;
    r.kind = RecordKind::kPci;
    r.parent = parent;
    r.where = e.where();
    r.said.bus_id = e.find("pci_busid").value_or("");
    const auto [first, fresh] = lines_.try_emplace(r.said.bus_id, r.where.line);
    if (!fresh)
      add_unknown(out_.unknown, r.where.line,
                  fmt::format("bus id {} is already in line {}", r.said.bus_id, first->second));
    LineCursor c(e.find("pci_type").value_or(""));
    std::uint64_t pci_class = 0, vendor = 0, device = 0;
    if (!c.hexadecimal(pci_class) || pci_class > 0xffff) return e.error("is not a PCI class and ids", "pci_type");
    r.said.pci_class = bridge ? kBridge : static_cast<std::uint32_t>(pci_class << 8);
    if (e.find("subtype") == "NVSwitch") r.said.pci_class = kNvSwitch;  // a switch that is down has no class
    c.blanks();
    if (c.accept("[") && c.hexadecimal(vendor) && c.accept(":") && c.hexadecimal(device) && (vendor | device) <= 0xffff)
      r.said.pci_id = static_cast<std::uint32_t>(vendor << 16 | device);
    if (e.find("pci_link_speed")) {
      BUSBAR_ASSIGN(const double GBps, e.number("pci_link_speed", 0, 1e5));
      std::tie(r.link_speed, r.link_width) = link_of(GBps);
    }
    if (out_.all.size() >= kMostRecords) return e.error(fmt::format("more than {} devices", kMostRecords));
    ++out_.all[parent].children;
    out_.all.push_back(std::move(r));
    return out_.all.size() - 1;
  }

  /// OpenFabrics devices name ports; "cuda0" or "nvml0" number GPUs.
  void add_os_device(const XmlElement& e, std::size_t parent) {
    Record& r = out_.all[parent];
    if (r.kind != RecordKind::kPci) return;
    const std::string_view type = e.find("osdev_type").value_or(""), name = e.find("name").value_or("");
    // Types are an enumeration in version 2 (3: OpenFabrics) and bits in version 3 (32).
    const bool fabric = version_3_ ? (small_number(type) & 32) != 0 : type == "3" || type.find("Open") != type.npos;
    if (fabric && r.said.pci_class >> 16 == 0x02) {
      ImportedPort port;
      port.name = name;
      port.dev = ports_++;
      r.ports.push_back(std::move(port));
      r.has_nic = true;
    }
    for (const std::string_view stem : {"nvml", "cuda", "rsmi"}) {
      if (!name.starts_with(stem) || r.said.dev >= 0) continue;
      std::int64_t n = 0;
      LineCursor c(name.substr(stem.size()));
      if (c.integer(n) && c.at_end() && n >= 0 && n < (1 << 20)) r.said.dev = static_cast<int>(n);
      r.has_gpu = true;
    }
  }

  Status read_distances(const XmlElement& e) {
    const std::string_view name = e.find("name").value_or("");
    const bool nvlink = name == "NVLinkBandwidth", xgmi = name == "XGMIBandwidth";
    if (!nvlink && !xgmi) {
      add_unknown(out_.unknown, e.where().line, fmt::format("distances {}: not used", name));
      return {};
    }
    std::vector<std::size_t> objects;
    std::vector<std::uint64_t> values;
    for (const XmlElement& child : e.children()) {
      LineCursor c(child.text());
      for (c.blanks(); !trimmed(c.rest()).empty(); c.blanks()) {
        const std::string_view word = c.until(" \t\r\n");
        if (word.empty()) {
          c.until("0123456789OPabcdefghijklmnopqrstuvwxyz");
          continue;
        }
        if (child.tag() == "indexes") {
          const auto at = by_gp_.find(std::string(word.substr(word.rfind(':') + 1)));
          objects.push_back(at == by_gp_.end() ? kNoParent : at->second);
        } else if (child.tag() == "u64values") {
          if (!LineCursor(word).integer(values.emplace_back(), 0, INT64_MAX))
            return child.error(fmt::format("'{}' is not a number", word));
        }
        if (objects.size() > 1024 || values.size() > kMostPairs) return e.error("more than 1024 objects");
      }
    }
    if (values.size() != objects.size() * objects.size())
      return e.error(fmt::format("{} values for {} objects", values.size(), objects.size()));
    for (std::size_t i = 0; i < objects.size(); ++i)
      for (std::size_t j = 0; j < objects.size(); ++j)
        if (i != j && values[i * objects.size() + j] > 0)
          add_link(objects[i], objects[j], values[i * objects.size() + j], nvlink, e);
    return {};
  }

  void add_link(std::size_t from, std::size_t to, std::uint64_t MBps, bool nvlink, const XmlElement& e) {
    constexpr std::uint64_t kFastest = 100'000'000;
    if (from == kNoParent || to == kNoParent || from == to || MBps > kFastest || ++links_ > kMostLinks) return;
    Record& r = out_.all[from];
    if (!r.has_gpu && r.said.pci_class >> 16 != 0x03) return;  // links of switches are listed by their GPUs
    LinkRecord l;
    l.kind = nvlink ? LinkRecord::Kind::kNvlink : LinkRecord::Kind::kXgmi;
    l.target = out_.all[to].said.bus_id;
    const bool is_switch = out_.all[to].said.pci_class == kNvSwitch;
    l.target_class = is_switch ? kNvSwitch : 0x030200;
    l.MBps = static_cast<std::int64_t>(MBps);
    l.where = e.where();
    r.has_gpu = true;
    r.links.push_back(std::move(l));
  }

  Records out_;
  std::string arch_;
  std::map<int, std::size_t> cpu_of_;
  std::map<std::string, int> lines_;
  std::map<std::string, std::size_t> by_gp_;
  std::size_t links_ = 0;
  int ports_ = 0;
  bool version_3_ = false;
};

}  // namespace

Result<ImportedMachine> read_hwloc_xml(std::string_view text, const std::string& name,
                                       const topology::PartFigures& figures) {
  BUSBAR_ASSIGN(const XmlElement root, parse_xml(text, name));
  if (root.tag() != "topology") return root.error("a file of hwloc begins with <topology>");
  BUSBAR_ASSIGN(Records records, HwlocReader().read(root));
  return build_machine(std::move(records), figures, name);
}

}  // namespace busbar::formats
