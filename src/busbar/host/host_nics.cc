#include "busbar/host/host_nics.h"

#include <set>

#include "busbar/base/text.h"

namespace busbar::host {
namespace {

constexpr std::uint64_t kGiga = 1'000'000'000, kMega = 1'000'000;

/// "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)"
std::uint64_t port_rate(std::string_view text) {
  double rate = 0;
  return is_number(text.substr(0, text.find(' ')), rate) && rate > 0 ? static_cast<std::uint64_t>(rate * kGiga) : 0;
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

int numa_of(const HostFiles& files, const std::string& device) {
  int out = -1;
  return is_number(std::string_view(files.line(device + "/numa_node")), out) ? out : -1;
}

}  // namespace

std::vector<HostNic> host_nics(const HostFiles& files) {
  std::vector<HostNic> out;
  std::set<std::string> seen;
  for (const std::string& name : files.names("/sys/class/infiniband")) {
    const std::string path = "/sys/class/infiniband/" + name, port = path + "/ports/1";
    const std::string state = files.line(port + "/state");
    HostNic nic{name,
                last_part(files.target(path + "/device")),
                state.substr(state.rfind(' ') + 1),
                files.line(port + "/link_layer"),
                port_rate(files.line(port + "/rate")),
                numa_of(files, path + "/device"),
                true};
    seen.insert(nic.pci);
    out.push_back(std::move(nic));
  }
  for (const std::string& name : files.names("/sys/class/net")) {
    const std::string path = "/sys/class/net/" + name, device = files.target(path + "/device");
    if (!files.exists(path + "/device") || seen.contains(last_part(device))) continue;
    std::uint64_t mbps = 0;
    const std::string speed = files.line(path + "/speed");
    const bool known = is_number(std::string_view(speed), mbps) && mbps < 10 * kMega;  // virtual ones say -1
    out.push_back({name, last_part(device), files.line(path + "/operstate"), "Ethernet", known ? mbps * kMega : 0,
                   numa_of(files, path + "/device"), false});
  }
  return out;
}

}  // namespace busbar::host
