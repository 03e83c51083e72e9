#include "busbar/cli/topo_host.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/quantity.h"
#include "busbar/host/host_nics.h"
#include "busbar/host/pci_devices.h"

namespace busbar {

bool has_gpu(const HostFiles& files) {
  const std::vector<PciDevice> all = pci_devices(files);
  return std::any_of(all.begin(), all.end(), [](const PciDevice& d) { return d.role == PciRole::kGpu; });
}

Result<int> show_host(const CommonOptions& o, const HostFiles& files) {
  if (!files.exists("/sys") || !files.exists("/proc"))
    return flag_error("CLUSTER",
                      "there are no folders sys and proc of a Linux host; name a machine (dgx-h100), or --root DIR");
  const std::string online = files.line("/sys/devices/system/node/online");
  Json j{{"schema", "busbar.topo/1"}, {"cluster", "this host"}, {"gpus", 0}, {"nics", Json::array()}};
  j["numa_nodes_online"] = online.empty() ? Json(nullptr) : Json(online);
  Document d{"This host", o.typed, {}};
  d.add(Highlight{"This host has no GPU of NVIDIA or AMD that Linux shows."});
  Table t{"Network devices",
          {to_left("device"), "rate", to_left("state"), to_left("layer"), to_left("RDMA"), "NUMA node", to_left("PCI")},
          {},
          {}};
  for (const HostNic& n : host_nics(files)) {
    const double bytes_per_s = static_cast<double>(n.rate_bps) / 8;
    j["nics"].push_back({{"name", n.name},
                         {"rate_bytes_per_s", n.rate_bps > 0 ? Json(bytes_per_s) : Json(nullptr)},
                         {"state", n.state},
                         {"layer", n.layer},
                         {"rdma", n.rdma},
                         {"numa_node", n.numa_node >= 0 ? Json(n.numa_node) : Json(nullptr)},
                         {"pci", n.pci}});
    t.rows.push_back({n.name, n.rate_bps > 0 ? format_rate(bytes_per_s) : "unknown", n.state, n.layer,
                      n.rdma ? "yes" : "no", n.numa_node >= 0 ? std::to_string(n.numa_node) : "unknown", n.pci});
  }
  d.add(Facts{"", {{"NUMA nodes", online.empty() ? "unknown" : online}}});
  if (t.rows.empty())
    d.add(Paragraph{"It has no network device with hardware of its own."});
  else
    d.add(std::move(t));
  d.blocks.push_back(
      {Paragraph{"`busbar doctor --live` judges it; `busbar topo dgx-h100` shows a machine of the catalogue."}});
  j["inputs_hash"] = inputs_hash(o);
  return deliver(o, j, d);
}

}  // namespace busbar
