#include "busbar/host/describe_host.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "busbar/base/text.h"
#include "busbar/host/internal/nvml.h"
#include "busbar/host/internal/rocm_smi.h"
#include "busbar/host/internal/verbs.h"
#include "busbar/host/pci_devices.h"

namespace busbar::host {
namespace {

constexpr std::array<std::string_view, 10> kVariables{"NCCL_", "RCCL_", "TORCH_NCCL_", "TORCH_FR_",   "GLOO_",
                                                      "UCX_",  "CUDA_", "HSA_",        "FI_PROVIDER", "FI_EFA"};

/// Nearest first, in the words of nvidia-smi topo -m.
constexpr std::array<std::string_view, 5> kDistances{"PIX", "PXB", "PHB", "NODE", "SYS"};

class Description {
 public:
  explicit Description(const HostFiles& files) : files_(files), devices_(pci_devices(files)) {}

  std::string text() {
    add_system();
    add_limits();
    add_environment();
    add_modules();
    add_pci();
    add_infiniband();
    add_distances();
    add_ethernet();
    if (files_.is_this_host()) out_ += read_verbs() + read_nvml() + read_any_rocm_smi();
    return std::move(out_);
  }

 private:
  void add(const std::string& path) {
    if (const std::string line = files_.line(path); !line.empty()) out_ += path + ":" + line + "\n";
  }
  void add_below(const std::string& folder, std::initializer_list<const char*> names) {
    for (const char* const name : names) add(folder + "/" + name);
  }
  /// The lines that begin with one of these words.
  void add_lines(const std::string& path, std::initializer_list<std::string_view> words, char end = '\n') {
    const std::string all = files_.text(path);
    for (const std::string_view line : split_at(all, end))
      if (std::any_of(words.begin(), words.end(), [&](std::string_view w) { return line.starts_with(w); }))
        out_ += fmt::format("{}:{}\n", path, line);
  }

  void add_system() {
    add("/proc/cmdline");
    add_below("/proc/sys/kernel", {"osrelease", "numa_balancing"});
    add_below("/proc/sys/vm", {"nr_hugepages"});
    add("/sys/kernel/mm/transparent_hugepage/enabled");
    add("/sys/devices/system/node/online");
    std::set<std::string> governors;
    for (const std::string& cpu : files_.names("/sys/devices/system/cpu")) {
      const std::string path = "/sys/devices/system/cpu/" + cpu + "/cpufreq/scaling_governor";
      if (governors.insert(files_.line(path)).second) add(path);
    }
    const std::string cpu = files_.text("/proc/cpuinfo");
    for (const std::string_view word : {"vendor_id", "model name"})
      if (const std::size_t at = cpu.find(word); at != cpu.npos)
        out_ += "/proc/cpuinfo:" + cpu.substr(at, cpu.find('\n', at) - at) + "\n";
  }

  void add_limits() {
    add_lines("/proc/self/limits", {"Max locked memory", "Max open files"});
    add_lines("/proc/self/status", {"Cpus_allowed_list"});
    const std::string mounts = files_.text("/proc/mounts");
    for (const std::string_view line : split_at(mounts, '\n'))
      if (line.find(" /dev/shm ") != line.npos) out_ += fmt::format("/proc/mounts:{}\n", line);
  }

  void add_environment() {
    const std::string all = files_.text("/proc/self/environ");
    for (const std::string_view line : split_at(all, '\0'))
      if (std::any_of(kVariables.begin(), kVariables.end(), [&](std::string_view v) { return line.starts_with(v); }))
        out_ += fmt::format("{}\n", line);
  }

  void add_modules() {
    add_below("/proc/driver/nvidia", {"version"});
    add_below("/sys/module", {"nvidia/version", "amdgpu/version", "mlx5_core/version"});
    const auto state = [&](const char* name, std::initializer_list<const char*> paths) {
      const bool loaded = std::any_of(paths.begin(), paths.end(), [&](const char* p) { return files_.exists(p); });
      out_ += fmt::format("host module {}: {}\n", name, loaded ? "loaded" : "absent");
    };
    state("nvidia_peermem", {"/sys/module/nvidia_peermem", "/sys/module/nv_peer_mem",
                             "/sys/kernel/mm/memory_peers/nv_mem/version"});  // the three places where NCCL looks
    const bool open = files_.line("/proc/driver/nvidia/version").find("Open Kernel Module") != std::string::npos;
    if (files_.exists("/proc/driver/nvidia/version"))
      out_ += fmt::format("host driver nvidia: {}\n", open ? "open kernel modules" : "closed kernel modules");
  }

  void add_pci() {
    std::set<std::string_view> shown;
    for (const PciDevice& d : devices_) {
      if (d.role != PciRole::kGpu && d.role != PciRole::kNic) continue;
      shown.insert(d.id);
      shown.insert(d.above.begin(), d.above.end());
    }
    int gpus = 0;
    for (const PciDevice& d : devices_) {
      gpus += d.role == PciRole::kGpu ? 1 : 0;
      if (shown.contains(d.id)) add_device(d);
    }
    out_ += fmt::format("host GPUs: {}\n", gpus);
  }

  void add_device(const PciDevice& d) {
    add_below(d.path(), {"class", "vendor", "device", "numa_node", "iommu_group/type"});
    const auto width = files_.line(d.path() + "/max_link_width");
    // Virtual devices have no link; Linux then says 0 or 255.
    if (width != "0" && width != "255") add_below(d.path(), {"max_link_width", "current_link_width"});
    // An idle GPU lowers the speed of its link and of those above, so only NICs tell something.
    if (d.role == PciRole::kNic) add_below(d.path(), {"max_link_speed", "current_link_speed"});
    if (const std::string acs = access_control(files_, d); !acs.empty() && d.role == PciRole::kBridge)
      out_ += fmt::format("{} PCI bridge: of this host\n        ACSCtl: {}\n", d.id, acs);
  }

  void add_infiniband() {
    const std::string top = "/sys/class/infiniband";
    const std::vector<std::string> names = files_.names(top);
    for (const std::string& name : names) {
      const std::string device = top + "/" + name;
      add_below(device, {"fw_ver", "hca_type", "board_id"});
      for (const std::string& port : files_.names(device + "/ports")) add_port(device + "/ports/" + port);
    }
    out_ += names.empty() ? "host RDMA devices: none\n" : fmt::format("host RDMA devices: {}\n", names.size());
    if (names.empty()) return;
    const std::vector<std::string> open = files_.names("/dev/infiniband");
    const bool verbs = std::any_of(open.begin(), open.end(), [](const auto& n) { return n.starts_with("uverbs"); });
    out_ += fmt::format("host files /dev/infiniband/uverbs: {}\n", verbs ? "present" : "absent");
  }

  void add_port(const std::string& port) {
    add_below(port, {"state", "phys_state", "rate", "link_layer"});
    add_below(port + "/counters", {"symbol_error", "link_downed", "link_error_recovery", "port_rcv_errors"});
    add_below(port + "/hw_counters",
              {"out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err"});
    for (const std::string& index : files_.names(port + "/gid_attrs/types"))
      add_below(port + "/gid_attrs", {("types/" + index).c_str(), ("ndevs/" + index).c_str()});
  }

  /// The distance of each GPU to its nearest RDMA device.
  void add_distances() {
    std::set<std::string> rdma;
    for (const std::string& name : files_.names("/sys/class/infiniband")) {
      const std::string target = files_.target("/sys/class/infiniband/" + name + "/device");
      rdma.insert(target.substr(target.rfind('/') + 1));
    }
    for (const PciDevice& gpu : devices_) {
      if (gpu.role != PciRole::kGpu) continue;
      auto nearest = kDistances.end();
      for (const PciDevice& nic : devices_)
        if (rdma.contains(nic.id))
          nearest = std::min(nearest, std::find(kDistances.begin(), kDistances.end(), distance_of(gpu, nic)));
      if (nearest != kDistances.end())
        out_ += fmt::format("host part {} has its nearest NIC at distance {}\n", gpu.id, *nearest);
    }
  }

  void add_ethernet() {
    for (const std::string& name : files_.names("/sys/class/net")) {
      const std::string device = "/sys/class/net/" + name;
      if (files_.exists(device + "/device")) add_below(device, {"operstate", "mtu", "speed"});
    }
  }

  const HostFiles& files_;
  const std::vector<PciDevice> devices_;
  std::string out_;
};

}  // namespace

std::string describe_host(const HostFiles& files) { return Description(files).text(); }

}  // namespace busbar::host
