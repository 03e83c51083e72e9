#include "busbar/formats/internal/nccl_topo_xml_elements.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "busbar/base/text.h"

namespace busbar::formats::machine_records {
namespace {

constexpr std::size_t kMostPorts = 1 << 13;  ///< above any machine
constexpr int kMost = 1 << 20;               ///< limit of numbers that count devices

/// "0x060400", "060400", "0x1000": hexadecimal; 0 when absent or empty.
Result<std::uint64_t> hexadecimal(const XmlElement& e, const char* attribute, std::uint64_t highest) {
  std::string_view text = e.find(attribute).value_or("");
  if (text.empty()) return std::uint64_t{0};
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint64_t value = 0;
  if (!is_number(text, value, 16) || value > highest)
    return e.error(fmt::format("'{}' is not a hexadecimal number up to {:x}", *e.find(attribute), highest), attribute);
  return value;
}

Result<int> small(const XmlElement& e, const char* attribute, int otherwise, int low = 0, int high = kMost) {
  return e.integer_or<int>(attribute, otherwise, std::min(low, otherwise), high);
}

/// "0000:17:00.0" in lower case; VMs write "fffffff:ff:ff.0".
Result<std::string> bus_id(const XmlElement& e, const char* attribute) {
  BUSBAR_ASSIGN(std::string id, e.string(attribute));
  const bool plain = !id.empty() && id.size() <= 32 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
  });
  if (!plain) return e.error(fmt::format("'{}' is not a PCI bus id; write 0000:17:00.0", id), attribute);
  for (char& c : id) c = c >= 'A' && c <= 'F' ? static_cast<char>(c + ('a' - 'A')) : c;
  return id;
}

class RecordReader {
 public:
  Status read_system(const XmlElement& system) {
    add_unknown_attributes(out_.unknown, system, {"keep", "version"});
    BUSBAR_ASSIGN(out_.version, small(system, "version", 1, 1, 2));
    for (const XmlElement& e : system.children()) {
      if (e.tag() != "cpu") {
        unknown_element(e);
        continue;
      }
      BUSBAR_RETURN_IF_ERROR(read_cpu(e));
    }
    return {};
  }
  Records take() && { return std::move(out_); }

 private:
  void unknown_element(const XmlElement& e) {
    add_unknown(out_.unknown, e.where().line, fmt::format("element {}", e.tag()));
  }

  Result<std::size_t> add(Record record, const XmlElement& e) {
    if (out_.all.size() >= kMostRecords) return e.error(fmt::format("more than {} devices", kMostRecords));
    record.where = e.where();
    out_.all.push_back(std::move(record));
    return out_.all.size() - 1;
  }

  Status read_cpu(const XmlElement& e) {
    add_unknown_attributes(out_.unknown, e,
                           {"keep", "host_hash", "numaid", "affinity", "arch", "vendor", "familyid", "modelid"});
    Record r;
    r.kind = RecordKind::kCpu;
    BUSBAR_ASSIGN(r.said.numa_id, small(e, "numaid", 0, -1));
    BUSBAR_ASSIGN(r.said.family, small(e, "familyid", 0));
    BUSBAR_ASSIGN(r.said.model, small(e, "modelid", 0));
    r.said.host = e.find("host_hash").value_or("");
    r.processor.arch = e.find("arch").value_or("");
    r.processor.vendor = e.find("vendor").value_or("");
    // NCCL adds the extended family shifted by four; vendors count 15 + extended.
    r.processor.family = r.said.family > 31 ? 15 + ((r.said.family - 15) >> 4) : r.said.family;
    r.processor.model = r.said.model;
    for (const Record& other : out_.all) {
      if (other.kind != RecordKind::kCpu || other.said.numa_id != r.said.numa_id || other.said.host != r.said.host)
        continue;
      return e.error(fmt::format("NUMA node {} is already in line {}", r.said.numa_id, other.where.line), "numaid");
    }
    BUSBAR_ASSIGN(const std::size_t at, add(std::move(r), e));
    return read_below(e, at);
  }

  Status read_below(const XmlElement& e, std::size_t at) {
    for (const XmlElement& child : e.children()) {
      const bool on_pci = out_.all[at].kind == RecordKind::kPci;
      if (child.tag() == "pci") {
        BUSBAR_RETURN_IF_ERROR(read_pci(child, at));
      } else if (child.tag() == "nic") {
        BUSBAR_RETURN_IF_ERROR(read_nic(child, at));
      } else if (child.tag() == "gpu" && on_pci) {
        BUSBAR_RETURN_IF_ERROR(read_gpu(child, at));
      } else if (child.tag() == "pcilink" && on_pci) {
        BUSBAR_RETURN_IF_ERROR(read_link(child, LinkRecord::Kind::kPciLink, at));
      } else {
        unknown_element(child);
      }
    }
    return {};
  }

  Status read_pci(const XmlElement& e, std::size_t parent) {
    add_unknown_attributes(out_.unknown, e,
                           {"keep", "busid", "class", "vendor", "device", "subsystem_vendor", "subsystem_device",
                            "link_speed", "link_width"});
    Record r;
    r.kind = RecordKind::kPci;
    r.parent = parent;
    BUSBAR_ASSIGN(r.said.bus_id, bus_id(e, "busid"));
    const std::string& host = host_of(parent);
    const auto [first, fresh] = lines_.try_emplace(host + '/' + r.said.bus_id, e.where().line);
    if (!fresh)  // files written by hand have it; links that name it mean the first
      add_unknown(out_.unknown, e.where().line,
                  fmt::format("bus id {} is already in line {}", r.said.bus_id, first->second));
    BUSBAR_ASSIGN(const std::uint64_t pci_class, hexadecimal(e, "class", 0xff'ffff));
    BUSBAR_ASSIGN(const std::uint64_t vendor, hexadecimal(e, "vendor", 0xffff));
    BUSBAR_ASSIGN(const std::uint64_t device, hexadecimal(e, "device", 0xffff));
    r.said.pci_class = static_cast<std::uint32_t>(pci_class);
    r.said.pci_id = static_cast<std::uint32_t>(vendor << 16 | device);
    r.link_speed = e.find("link_speed").value_or("");
    if (e.find("link_width").value_or("") != "") {
      BUSBAR_ASSIGN(r.link_width, e.integer("link_width", 0, 32));
    }
    ++out_.all[parent].children;
    BUSBAR_ASSIGN(const std::size_t at, add(std::move(r), e));
    return read_below(e, at);
  }

  const std::string& host_of(std::size_t at) const {
    while (out_.all[at].parent != kNoParent) at = out_.all[at].parent;
    return out_.all[at].said.host;
  }

  Status read_gpu(const XmlElement& e, std::size_t at) {
    add_unknown_attributes(out_.unknown, e, {"keep", "dev", "sm", "rank", "gdr", "gcn", "arch", "mlopart"});
    if (e.find("mlopart")) add_unknown(out_.unknown, e.where().line, "attribute gpu.mlopart: partitions count as one");
    if (out_.all[at].has_gpu) return e.error("a second gpu on one PCI function");
    out_.all[at].has_gpu = true;
    ImportedDevice& said = out_.all[at].said;
    BUSBAR_ASSIGN(said.dev, small(e, "dev", -1));
    BUSBAR_ASSIGN(said.rank, small(e, "rank", -1, -1));
    BUSBAR_ASSIGN(said.sm, small(e, "sm", -1));
    BUSBAR_ASSIGN(said.gdr, small(e, "gdr", -1));
    if (const auto gcn = e.find("gcn"))
      out_.all[at].architecture = gcn->starts_with("gfx") ? std::string(*gcn) : "gfx" + std::string(*gcn);
    if (out_.all[at].architecture == "gfx910") out_.all[at].architecture = "gfx90a";  // RCCL writes it in decimal
    for (const XmlElement& child : e.children()) {
      const auto kind = child.tag() == "nvlink" ? std::optional(LinkRecord::Kind::kNvlink)
                        : child.tag() == "xgmi" ? std::optional(LinkRecord::Kind::kXgmi)
                        : child.tag() == "c2c"  ? std::optional(LinkRecord::Kind::kC2c)
                                                : std::nullopt;
      if (!kind) {
        unknown_element(child);
        continue;
      }
      BUSBAR_RETURN_IF_ERROR(read_link(child, *kind, at));
    }
    return {};
  }

  Status read_link(const XmlElement& e, LinkRecord::Kind kind, std::size_t at) {
    constexpr std::int64_t kMostLanes = 1024, kFastest = 100'000'000;
    LinkRecord link;
    link.kind = kind;
    link.where = e.where();
    if (kind == LinkRecord::Kind::kC2c) {
      add_unknown_attributes(out_.unknown, e, {"keep", "bw", "count"});
      BUSBAR_ASSIGN(link.MBps, e.integer("bw", 1, kFastest));
    } else {
      add_unknown_attributes(out_.unknown, e, {"keep", "target", "count", "tclass"});
      BUSBAR_ASSIGN(link.target, bus_id(e, "target"));
      BUSBAR_ASSIGN(const std::uint64_t target_class, hexadecimal(e, "tclass", 0xff'ffff));
      link.target_class = static_cast<std::uint32_t>(target_class);
    }
    BUSBAR_ASSIGN(link.count, e.integer_or("count", 1, 0, kMostLanes));
    if (++links_ > kMostLinks) return e.error(fmt::format("more than {} links", kMostLinks));
    if (link.count > 0) out_.all[at].links.push_back(std::move(link));
    return {};
  }

  Status read_nic(const XmlElement& e, std::size_t parent) {
    add_unknown_attributes(out_.unknown, e, {"keep"});
    std::size_t at = parent;
    if (out_.all[parent].kind == RecordKind::kCpu) {  // a virtual NIC has no PCI function of its own
      Record r;
      r.kind = RecordKind::kPci;
      r.parent = parent;
      BUSBAR_ASSIGN(at, add(std::move(r), e));
    }
    out_.all[at].has_nic = true;
    for (const XmlElement& child : e.children()) {
      if (child.tag() != "net") {
        unknown_element(child);
        continue;
      }
      BUSBAR_ASSIGN(ImportedPort port, read_port(child));
      if (++ports_ > kMostPorts) return child.error(fmt::format("more than {} ports", kMostPorts));
      out_.all[at].ports.push_back(std::move(port));
    }
    return {};
  }

  Result<ImportedPort> read_port(const XmlElement& e) {
    constexpr int kFastestMbps = 1'000'000'000;
    constexpr double kSlowestUs = 1e9;
    add_unknown_attributes(out_.unknown, e,
                           {"keep", "name", "dev", "latency", "speed", "port", "guid", "maxconn", "gdr", "coll", "net",
                            "gin", "rma", "rail", "plane"});
    for (const char* later : {"gin", "rma", "rail", "plane"})
      if (e.find(later)) add_unknown(out_.unknown, e.where().line, fmt::format("attribute net.{}: not used", later));
    ImportedPort p;
    p.name = e.find("name").value_or("");
    BUSBAR_ASSIGN(p.dev, small(e, "dev", -1));
    BUSBAR_ASSIGN(p.port, small(e, "port", 1, -1));
    BUSBAR_ASSIGN(p.speed_mbps, small(e, "speed", 0, -1, kFastestMbps));
    BUSBAR_ASSIGN(p.gdr, small(e, "gdr", -1));
    BUSBAR_ASSIGN(p.collnet, small(e, "coll", 0));
    BUSBAR_ASSIGN(p.guid, hexadecimal(e, "guid", UINT64_MAX));
    if (e.find("latency")) {
      BUSBAR_ASSIGN(p.latency_us, e.number("latency", 0, kSlowestUs));
    }
    return p;
  }

  Records out_;
  std::size_t links_ = 0, ports_ = 0;
  std::map<std::string, int> lines_;  ///< host/bus id -> line
};

}  // namespace

Result<Records> read_records(const XmlElement& system) {
  if (system.tag() != "system") return system.error("a topology file begins with <system>");
  RecordReader reader;
  BUSBAR_RETURN_IF_ERROR(reader.read_system(system));
  return std::move(reader).take();
}

}  // namespace busbar::formats::machine_records
