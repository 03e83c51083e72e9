#include "busbar/host/node_xml.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "busbar/base/text.h"
#include "busbar/host/host_nics.h"
#include "busbar/host/pci_devices.h"

namespace busbar::host {
namespace {

class NodeWriter {
 public:
  explicit NodeWriter(const HostFiles& files) : files_(files), devices_(pci_devices(files)), nics_(host_nics(files)) {
    const bool rdma = std::any_of(nics_.begin(), nics_.end(), [](const HostNic& n) { return n.rdma; });
    for (const HostNic& nic : nics_)
      if (nic.rdma == rdma) nic_at_[nic.pci].push_back(&nic);
    for (const PciDevice& d : devices_)
      if (d.role == PciRole::kGpu || nic_at_.contains(d.id)) place(d);
  }

  std::string text() {
    std::string out = "<system version=\"1\">\n";
    for (const int numa : numa_nodes_) {
      out += fmt::format("  <cpu numaid=\"{}\"{}>\n", numa, processor());
      for (const std::string& id : top_[numa]) write(id, 4, out);
      out += "  </cpu>\n";
    }
    return out + "</system>\n";
  }

 private:
  /// Puts a device below the bridges that NCCL shows, and the topmost below its NUMA node.
  void place(const PciDevice& d) {
    std::string child = d.id;
    for (std::size_t up = 2; up <= d.above.size(); up += 2) {
      const std::string& bridge = d.above[d.above.size() - up];
      if (!below_[bridge].insert(child).second) return;
      child = bridge;
    }
    const int numa = std::max(d.numa_node, 0);
    numa_nodes_.insert(numa);
    top_[numa].insert(child);
  }

  std::string attribute(const PciDevice& d, const char* name, const char* file) const {
    return fmt::format(" {}=\"{}\"", name, files_.line(d.path() + "/" + file));
  }

  void write(const std::string& id, std::size_t depth, std::string& out) {
    const auto found = std::find_if(devices_.begin(), devices_.end(), [&](const auto& d) { return d.id == id; });
    if (found == devices_.end()) return;
    const PciDevice& d = *found;
    const std::string indent(depth, ' ');
    out += fmt::format("{}<pci busid=\"{}\"{}{}{}{}{}", indent, id, attribute(d, "class", "class"),
                       attribute(d, "vendor", "vendor"), attribute(d, "device", "device"),
                       attribute(d, "subsystem_vendor", "subsystem_vendor"),
                       attribute(d, "subsystem_device", "subsystem_device"));
    const std::string width = files_.line(d.path() + "/current_link_width");
    // An idle GPU lowers its speed, so the highest one counts.
    out += attribute(d, "link_speed", "max_link_speed");
    out += fmt::format(" link_width=\"{}\">\n", width == "0" || width == "255" ? "" : width);
    if (d.role == PciRole::kGpu) {
      out += fmt::format("{}  <gpu dev=\"{}\" rank=\"{}\" gdr=\"1\"/>\n", indent, gpus_, gpus_);
      ++gpus_;
    }
    if (const auto nics = nic_at_.find(id); nics != nic_at_.end()) {
      out += indent + "  <nic>\n";
      for (const HostNic* nic : nics->second)
        out +=
            fmt::format("{}    <net name=\"{}\" dev=\"{}\" speed=\"{}\" port=\"1\" gdr=\"{}\"/>\n", indent, nic->name,
                        nets_++, nic->rate_bps > 0 ? nic->rate_bps / 1'000'000 : kDefaultMbps, nic->rdma ? 1 : 0);
      out += indent + "  </nic>\n";
    }
    for (const std::string& child : below_[id]) write(child, depth + 2, out);
    out += indent + "</pci>\n";
  }

  std::string processor() const {
    const std::string all = files_.text("/proc/cpuinfo");
    const auto value = [&](std::string_view name) -> std::string {
      for (const std::string_view line : split_at(all, '\n'))
        if (line.starts_with(name) && line.find(':') != line.npos)
          return std::string(line.substr(std::min(line.find(':') + 2, line.size())));
      return {};
    };
    const std::string vendor = value("vendor_id");
    if (vendor.empty()) return " arch=\"arm64\"";
    int family = 0;
    if (!is_number(std::string_view(value("cpu family")), family)) family = 0;
    if (family > 15) family = 15 + ((family - 15) << 4);  // NCCL shifts the extended family
    return fmt::format(" arch=\"x86_64\" vendor=\"{}\" familyid=\"{}\" modelid=\"{}\"", vendor, family,
                       value("model\t"));
  }

  static constexpr std::uint64_t kDefaultMbps = 10'000;  // what NCCL takes for an interface without a speed
  const HostFiles& files_;
  const std::vector<PciDevice> devices_;
  const std::vector<HostNic> nics_;
  std::map<std::string, std::vector<const HostNic*>> nic_at_;
  std::map<std::string, std::set<std::string>> below_;
  std::map<int, std::set<std::string>> top_;
  std::set<int> numa_nodes_;
  int gpus_ = 0, nets_ = 0;
};

}  // namespace

std::string node_xml(const HostFiles& files) { return NodeWriter(files).text(); }

}  // namespace busbar::host
