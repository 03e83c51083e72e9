#include "busbar/formats/nccl_topo_xml_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "busbar/topology/tree_view.h"

namespace busbar::formats {
namespace {

/// An element and its content.
struct Element {
  std::string tag, attributes;
  std::vector<Element> children;

  template <typename T>
  Element& set(const char* name, const T& value) {
    attributes += fmt::format(" {}=\"{}\"", name, value);
    return *this;
  }
  std::size_t size() const {
    std::size_t n = 1;
    for (const Element& e : children) n += e.size();
    return n;
  }
  void write(std::string& out, std::size_t depth) const {
    out += std::string(2 * depth, ' ') + "<" + tag + attributes;
    if (children.empty()) {
      out += "/>\n";
      return;
    }
    out += ">\n";
    for (const Element& e : children) e.write(out, depth + 1);
    out += std::string(2 * depth, ' ') + "</" + tag + ">\n";
  }
};

/// NCCL adds the extended family shifted by four: Zen 2, family 15 + 8, is 143.
int nccl_family(int family) { return family < 15 ? family : 15 + ((family - 15) << 4); }

class Writer {
 public:
  Writer(const topology::Topology& t, topology::BlockId block, bool merge_switches)
      : t_(t), merge_(merge_switches), lines_(topology::block_tree(t, block)) {
    std::uint32_t bus = 0;
    for (const topology::TreeLine& l : lines_) {
      const topology::DeviceKind k = t_.kind(l.device);
      if (k == topology::DeviceKind::kCpu || k == topology::DeviceKind::kNuma) continue;
      bus_[l.device] = fmt::format("{:04x}:{:02x}:00.0", bus / 255, bus % 255 + 1);
      ++bus;
    }
    for (const topology::TreeLine& l : lines_) cabled_ = cabled_ || cable_of(l.device).has_value();
    std::uint32_t gpus = 0, nets = 0;
    const topology::Block& place = t_.blocks()[index(block)];
    for (std::uint32_t i = 0; i < place.device_count; ++i) {  // numbers count over the block, not over the tree
      const auto d = static_cast<topology::DeviceId>(place.first_device + i);
      if (t_.kind(d) == topology::DeviceKind::kGpu) number_[d] = gpus++;
      if (t_.kind(d) == topology::DeviceKind::kNic && (!cabled_ || cable_of(d))) number_[d] = nets++;
    }
  }

  Element build() {
    Element system{"system", "", {}};
    system.set("version", 1);
    for (std::size_t i = 0; i < lines_.size();) {
      if (t_.kind(lines_[i].device) == topology::DeviceKind::kCpu) {
        socket_ = lines_[i].device;
        ++i;
      } else if (lines_[i].depth == 0) {
        socket_ = kNone<topology::DeviceId>;
      }
      while (i < lines_.size() && t_.kind(lines_[i].device) != topology::DeviceKind::kCpu) {
        if (t_.kind(lines_[i].device) == topology::DeviceKind::kRootPort) {  // NCCL counts it as part of the CPU
          ++i;
          continue;
        }
        const bool root = lines_[i].depth == 0;
        std::optional<Element> e = element(i);
        if (e) cpu_of(root ? -1 : t_.numa(e_device_)).children.push_back(std::move(*e));
      }
    }
    for (auto& [numa, cpu] : cpus_) system.children.push_back(std::move(cpu));
    return system;
  }

 private:
  /// The element of line i with everything below it; moves i past them. None for a device that NCCL does not know.
  std::optional<Element> element(std::size_t& i) {
    const topology::TreeLine& line = lines_[i++];
    const topology::DeviceId d = line.device;
    Element out{"pci", "", {}};
    const bool known = describe(line, out);
    while (i < lines_.size() && lines_[i].depth > line.depth) {
      std::optional<Element> child = element(i);
      if (child && known) out.children.push_back(std::move(*child));
    }
    e_device_ = d;
    if (!known) return std::nullopt;
    if (t_.kind(d) == topology::DeviceKind::kPcieSwitch && out.children.empty()) return std::nullopt;
    return out;
  }

  bool describe(const topology::TreeLine& line, Element& out) {
    const topology::DeviceId d = line.device;
    switch (t_.kind(d)) {
      case topology::DeviceKind::kPcieSwitch:
        pci(line, "0x060400", out);
        name_two_levels(line, out);
        return true;
      case topology::DeviceKind::kGpu:
        pci(line, "0x030200", out);
        out.children.push_back(gpu(d));
        return true;
      case topology::DeviceKind::kNic: {
        const std::optional<topology::LinkId> cable = cable_of(d);
        if (cabled_ && !cable) return false;
        const bool ib = cable && t_.link_class(*cable).kind == topology::LinkKind::kInfiniband;
        pci(line, ib ? "0x020700" : "0x020000", out);
        out.children.push_back({"nic", "", {net(d, cable)}});
        return true;
      }
      default:
        return false;
    }
  }

  void pci(const topology::TreeLine& line, const char* device_class, Element& out) {
    out.set("busid", bus_.at(line.device)).set("class", device_class);
    const bool real = line.up != kNone<topology::LinkId> && t_.link_class(line.up).kind == topology::LinkKind::kPcie;
    if (!real) {
      out.set("link_speed", "").set("link_width", 0);
      return;
    }
    const topology::LinkClass& c = t_.link_class(line.up);
    const int lanes = std::clamp<int>(c.lanes, 1, 16);
    const double lane = static_cast<double>(per_second(c.wire_rate)) * 8 / 1e9 / c.lanes;  // GT/s: one bit each
    double step = 2.5;
    for (const double s : {5.0, 8.0, 16.0, 32.0, 64.0, 128.0})
      if (lane >= s * 0.9) step = s;  // files may give the rate after line coding
    out.set("link_speed", fmt::format("{:.1f} GT/s PCIe", step)).set("link_width", lanes);
  }

  /// Ids of a switch chip that appears as two levels, so that NCCL merges them: Broadcom's of PCIe 4 and of PCIe 5.
  void name_two_levels(const topology::TreeLine& line, Element& out) {
    const bool lower = t_.device_class(line.device).lower_level;
    bool two = lower;
    double GBps_of_lane = 0;
    for (const topology::LinkId l : t_.out_links(line.device)) {
      if (t_.kind(t_.to(l)) != topology::DeviceKind::kPcieSwitch || lower == t_.device_class(t_.to(l)).lower_level)
        continue;
      two = true;
      GBps_of_lane =
          static_cast<double>(per_second(t_.link_class(l).wire_rate)) / 1e9 / std::max<int>(t_.link_class(l).lanes, 1);
    }
    constexpr double kPcie5Lane = 3.9;  // GB/s after line coding
    if (two) out.set("vendor", "0x1000").set("device", GBps_of_lane >= kPcie5Lane ? "0xc030" : "0xc010");
  }

  Element gpu(topology::DeviceId d) {
    Element out{"gpu", "", {}};
    out.set("dev", number_.at(d));
    if (const int sm = t_.device_class(d).compute_capability; sm > 0) out.set("sm", sm);
    if (const std::string& gfx = t_.device_class(d).architecture; !gfx.empty()) out.set("gcn", gfx);  // RCCL's
    out.set("rank", number_.at(d)).set("gdr", 1);
    std::map<std::string, std::pair<std::uint32_t, const char*>> targets;  // bus id -> lanes, class
    std::vector<std::string> order;
    const char* tag = "nvlink";
    for (const topology::LinkId l : t_.out_links(d)) {
      const topology::LinkClass& c = t_.link_class(l);
      const topology::DeviceKind to = t_.kind(t_.to(l));
      if (c.kind == topology::LinkKind::kC2c && to == topology::DeviceKind::kCpu) {
        Element c2c{"c2c", "", {}};
        c2c.set("bw", per_second(c.wire_rate) / 1'000'000 / std::max<std::uint16_t>(c.lanes, 1)).set("count", c.lanes);
        out.children.push_back(std::move(c2c));
        continue;
      }
      if (!topology::is_scale_up(c.kind) || !bus_.contains(t_.to(l))) continue;
      if (c.kind == topology::LinkKind::kXgmi) tag = "xgmi";
      const bool to_gpu = to == topology::DeviceKind::kGpu;
      const std::string id = merge_ && !to_gpu && !order.empty() ? order.front() : bus_.at(t_.to(l));
      if (!targets.contains(id)) order.push_back(id);
      auto& target = targets[id];
      target.first += c.lanes;
      target.second = to_gpu ? "0x030200" : "0x068000";
    }
    for (const std::string& id : order) {
      Element link{tag, "", {}};
      link.set("target", id).set("count", targets[id].first).set("tclass", targets[id].second);
      out.children.push_back(std::move(link));
    }
    return out;
  }

  Element net(topology::DeviceId d, std::optional<topology::LinkId> cable) {
    const std::string name = t_.name(d);
    Element out{"net", "", {}};
    out.set("name", name.substr(name.find('.') + 1)).set("dev", number_.at(d));
    if (cable) out.set("speed", per_second(t_.link_class(*cable).wire_rate) * 8 / 1'000'000);
    out.set("port", 1).set("latency", "0.000000").set("guid", fmt::format("0x{:x}", index(d) + 1));
    out.set("maxconn", 131072).set("gdr", 1);
    return out;
  }

  /// The first live cable that leaves the block.
  std::optional<topology::LinkId> cable_of(topology::DeviceId d) const {
    if (t_.kind(d) != topology::DeviceKind::kNic) return std::nullopt;
    for (const topology::LinkId l : t_.out_links(d))
      if (t_.block_of(t_.to(l)) != t_.block_of(d)) return l;
    return std::nullopt;
  }

  Element& cpu_of(int numa) {
    if (numa < 0 && socket_ != kNone<topology::DeviceId>) numa = t_.numa(socket_);
    if (numa < 0) numa = 0;
    const auto [at, fresh] = cpus_.try_emplace(numa, Element{"cpu", "", {}});
    if (!fresh) return at->second;
    at->second.set("numaid", numa);
    if (socket_ == kNone<topology::DeviceId>) return at->second;
    const topology::ProcessorIdentity& id = t_.device_class(socket_).processor;
    if (!id.arch.empty()) at->second.set("arch", id.arch);
    if (!id.vendor.empty())
      at->second.set("vendor", id.vendor).set("familyid", nccl_family(id.family)).set("modelid", id.model);
    return at->second;
  }

  const topology::Topology& t_;
  bool merge_, cabled_ = false;
  std::vector<topology::TreeLine> lines_;
  std::map<topology::DeviceId, std::string> bus_;
  std::map<topology::DeviceId, std::uint32_t> number_;  ///< of GPUs and NICs
  std::map<int, Element> cpus_;
  topology::DeviceId socket_ = kNone<topology::DeviceId>, e_device_{};
};

}  // namespace

Result<std::string> write_nccl_topo_xml(const topology::Topology& t, topology::BlockId block) {
  Element system = Writer(t, block, false).build();
  if (system.size() > kMostNcclNodes) system = Writer(t, block, true).build();
  if (system.size() > kMostNcclNodes)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("NCCL reads at most {} elements from one file, node{} takes {}; a rack has one file per "
                             "host, so describe one host, as '--set node.trays=1' does",
                             kMostNcclNodes, index(block), system.size()),
                 {}};
  std::string out;
  system.write(out, 0);
  return out;
}

}  // namespace busbar::formats
