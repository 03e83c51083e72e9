#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "busbar/host/describe_host.h"
#include "busbar/host/hwloc_library.h"
#include "busbar/host/internal/nvml.h"
#include "busbar/host/internal/rocm_smi.h"
#include "busbar/host/internal/verbs.h"
#include "busbar/host/node_xml.h"
#include "busbar/host/pci_devices.h"

// A library of NVIDIA with two GPUs. The second has a narrow link, a slow clock and an NVLink that is down.
extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 2, 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) { return std::snprintf(text, size, "550.90.07") < 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, const char** device) { return *device = index == 0 ? "0" : "1", 0; }
int nvmlDeviceGetPciInfo_v3(const char* device, char* info) {  // nvmlPciInfo_t: the bus id begins at byte 36
  return std::snprintf(info + 36, 32, "0000000%s:18:00.0", device) < 0;
}
int nvmlDeviceGetName(const char*, char* text, unsigned size) { return std::snprintf(text, size, "NVIDIA H200") < 0; }
int nvmlDeviceGetMaxPcieLinkWidth(const char*, unsigned* width) { return *width = 16, 0; }
int nvmlDeviceGetCurrPcieLinkWidth(const char* device, unsigned* width) {
  return *width = device[0] == '0' ? 16 : 8, 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(const char* device, unsigned long long* bits) {
  return *bits = device[0] == '0' ? 0x1 : 0x41, 0;
}
int nvmlDeviceGetNvLinkState(const char* device, unsigned link, int* active) {
  return *active = device[0] == '0', link < 1 ? 0 : 2;
}

// A library of RDMA with two devices. The first has a small MTU, and this user must not open the second.
const char** ibv_get_device_list(int* count) {
  static const char* devices[] = {"mlx5_0", "mlx5_1"};
  return *count = 2, devices;
}
void ibv_free_device_list(const char**) {}
const char* ibv_get_device_name(const char* device) { return device; }
const char* ibv_open_device(const char* device) { return device[5] == '0' ? device : nullptr; }
int ibv_close_device(const char*) { return 0; }
int ibv_query_port(const char*, std::uint8_t port, int* attributes) {  // ibv_port_attr: state, max_mtu, active_mtu
  attributes[0] = 4, attributes[1] = 5, attributes[2] = 3;
  return port == 1 ? 0 : 22;
}

// A library of AMD with three GPUs. The first and the third reach each other by PCIe.
int rsmi_init(std::uint64_t) { return 0; }
int rsmi_shut_down() { return 0; }
int rsmi_num_monitor_devices(std::uint32_t* count) { return *count = 3, 0; }
int rsmi_dev_pci_id_get(std::uint32_t i, std::uint64_t* id) { return *id = (0x1ULL << 32) | (0x0c + i) << 8, 0; }
int rsmi_topo_get_link_type(std::uint32_t i, std::uint32_t j, std::uint64_t* hops, int* type) {
  return *hops = 1, *type = i + j == 2 ? 1 : 2, 0;
}
int rsmi_dev_xgmi_error_status(std::uint32_t i, int* status) { return *status = i == 1 ? 2 : 0, 0; }

// A library of hwloc that knows one device.
int hwloc_topology_init(int** topology) {
  static int it = 0;
  return *topology = &it, 0;
}
int hwloc_topology_set_io_types_filter(int*, int filter) { return filter; }
int hwloc_topology_load(int* topology) { return *topology = 1, 0; }
int hwloc_topology_export_xmlbuffer(const int* topology, const char** text, int* length, unsigned long) {
  *text =
      "<topology version=\"2.0\"><object type=\"Machine\" nodeset=\"0x00000003\">"
      "<object type=\"PCIDev\" pci_busid=\"0000:05:00.0\"/>"
      "<object type=\"Package\" nodeset=\"0x00000001,0x00000000\"><object type=\"Bridge\">"
      "<object type=\"PCIDev\" pci_busid=\"0000:81:00.0\"/></object></object></object></topology>";
  *length = static_cast<int>(std::strlen(*text)) + 1;
  return *topology == 1 ? 0 : -1;
}
void hwloc_free_xmlbuffer(int*, char*) {}
void hwloc_topology_destroy(int* topology) { *topology = 0; }
}

namespace busbar::host {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

/// Folders sys and proc of an invented host.
class Host : public testing::Test {
 protected:
  Host() : root_(fs::path(testing::TempDir()) / ("busbar_host." + name_of_test() + "." + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    write("/proc/cmdline", "BOOT_IMAGE=/vmlinuz intel_iommu=on\n");
  }
  ~Host() override { fs::remove_all(root_); }
  static std::string name_of_test() { return testing::UnitTest::GetInstance()->current_test_info()->name(); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_.string() + path).substr(0, (root_.string() + path).rfind('/')));
    std::ofstream(root_.string() + path, std::ios::binary) << text;
  }
  void link(const std::string& path, const std::string& to) {
    fs::create_directories(fs::path(root_.string() + path).parent_path());
    fs::create_directory_symlink(root_.string() + to, root_.string() + path);
  }
  /// A device at "pci0000:16/0000:16:01.0/0000:17:00.0".
  void add_pci(const std::string& place, const std::string& class_code, const std::string& vendor, int numa) {
    const std::string path = "/sys/devices/" + place, id = place.substr(place.rfind('/') + 1);
    write(path + "/class", class_code + "\n");
    write(path + "/vendor", vendor + "\n");
    write(path + "/numa_node", std::to_string(numa) + "\n");
    link("/sys/bus/pci/devices/" + id, path);
  }
  HostFiles files() const { return HostFiles(root_.string() + "/"); }
  std::string text() const { return describe_host(files()); }

  const fs::path root_;
};

TEST_F(Host, TellsDistancesOfPciDevicesAsNvidiaSmiDoes) {
  const std::string top = "pci0000:16/0000:16:01.0/0000:17:00.0/";  // root port, upstream port of a switch
  add_pci(top + "0000:18:00.0/0000:19:00.0", "0x030200", "0x10de", 0);
  add_pci(top + "0000:18:01.0/0000:1a:00.0", "0x020700", "0x15b3", 0);
  add_pci("pci0000:16/0000:16:01.0/0000:27:00.0/0000:28:00.0/0000:29:00.0", "0x020700", "0x15b3", 0);
  add_pci("pci0000:16/0000:16:05.0/0000:30:00.0", "0x020700", "0x15b3", 0);
  add_pci("pci0000:40/0000:40:01.0/0000:41:00.0", "0x020700", "0x15b3", 0);
  add_pci("pci0000:80/0000:80:01.0/0000:81:00.0", "0x020700", "0x15b3", 1);
  add_pci("pci0000:90/0000:90:01.0/0000:91:00.0", "0x020700", "0x15b3", -1);
  const std::vector<PciDevice> all = pci_devices(files());
  ASSERT_EQ(all.size(), 7u);
  EXPECT_EQ(all[0].role, PciRole::kGpu);
  EXPECT_THAT(text(), testing::HasSubstr("host GPUs: 1\n"));
  std::vector<std::string> found;
  for (const PciDevice& d : all) found.emplace_back(distance_of(all[0], d));
  EXPECT_THAT(found, testing::ElementsAre("PIX", "PIX", "PXB", "PHB", "NODE", "SYS", ""));
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(distance_of(all[i], all[0]), found[i]) << "symmetric";
}

// The GPU hangs at the first switch, the NIC at a second one below it.
TEST_F(Host, ASwitchBelowAnotherMakesThePathCrossSeveral) {
  const std::string top = "pci0000:16/0000:16:01.0/0000:17:00.0/";
  add_pci(top + "0000:18:00.0/0000:19:00.0", "0x030200", "0x10de", 0);
  add_pci(top + "0000:18:01.0/0000:1a:00.0/0000:1b:00.0/0000:1c:00.0", "0x020700", "0x15b3", 0);
  const std::vector<PciDevice> all = pci_devices(files());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_STREQ(distance_of(all[0], all[1]), "PXB");
  EXPECT_STREQ(distance_of(all[1], all[0]), "PXB");
}

TEST_F(Host, NamesTheDistanceOfEachGpuToItsNearestRdmaDevice) {
  add_pci("pci0000:16/0000:16:01.0/0000:17:00.0", "0x030200", "0x10de", 0);
  add_pci("pci0000:16/0000:16:02.0/0000:18:00.0", "0x020000", "0x8086", 0);  // no RDMA
  add_pci("pci0000:80/0000:80:01.0/0000:81:00.0", "0x020700", "0x15b3", 1);
  EXPECT_THAT(text(), Not(HasSubstr("nearest NIC")));
  link("/sys/class/infiniband/mlx5_0/device", "/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0");
  EXPECT_THAT(text(), HasSubstr("host part 0000:17:00.0 has its nearest NIC at distance SYS\n"));
}

TEST_F(Host, ShowsPortsInTheOrderOfTheirNumbersAndWhatTheJobCanOpen) {
  for (const char* const name : {"mlx5_10", "mlx5_2"}) {
    const std::string port = std::string("/sys/class/infiniband/") + name + "/ports/1";
    write(port + "/state", "4: ACTIVE\n");
    write(port + "/gid_attrs/types/3", "RoCE v2\n");
  }
  const std::string all = text();
  EXPECT_LT(all.find("mlx5_2/ports/1/state:4: ACTIVE\n"), all.find("mlx5_10/ports/1/state:4: ACTIVE\n"));
  EXPECT_THAT(all, HasSubstr("mlx5_2/ports/1/gid_attrs/types/3:RoCE v2\n"));
  EXPECT_THAT(all, HasSubstr("host RDMA devices: 2\nhost files /dev/infiniband/uverbs: absent\n"));
  write("/dev/infiniband/uverbs0", "");
  EXPECT_THAT(text(), HasSubstr("host files /dev/infiniband/uverbs: present\n"));
}

TEST_F(Host, ShowsOnlyVariablesOfTheCommunication) {
  write("/proc/self/environ", std::string("AWS_SECRET=abc\0NCCL_ALGO=Ring\0XNCCL_DEBUG=1\0", 45));
  EXPECT_THAT(text(), HasSubstr("\nNCCL_ALGO=Ring\n"));
  EXPECT_THAT(text(), Not(HasSubstr("SECRET")));
  EXPECT_THAT(text(), Not(HasSubstr("XNCCL")));
}

TEST_F(Host, DoesNotShowTheSpeedOfAGpusLinkBecauseIdleGpusLowerIt) {
  add_pci("pci0000:16/0000:16:01.0/0000:17:00.0", "0x030200", "0x10de", 0);
  write("/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/current_link_speed", "2.5 GT/s PCIe\n");
  write("/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/max_link_width", "16\n");
  write("/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/current_link_width", "8\n");
  EXPECT_THAT(text(), Not(HasSubstr("link_speed")));
  EXPECT_THAT(text(), HasSubstr("/sys/bus/pci/devices/0000:17:00.0/current_link_width:8\n"));
}

TEST_F(Host, ReadsAccessControlOfBridgesWhereTheWholeConfigurationIsReadable) {
  add_pci("pci0000:16/0000:16:01.0", "0x060400", "0x8086", 0);
  add_pci("pci0000:16/0000:16:01.0/0000:17:00.0", "0x030200", "0x10de", 0);
  std::string config(4096, '\0');
  config[0x100] = '\x01';  // advanced error reporting, the next at 0x150
  config[0x102] = '\x02';
  config[0x103] = '\x15';
  config[0x150] = '\x0d';  // access control, the last
  config[0x156] = '\x0d';  // SrcValid, ReqRedir, CmpltRedir
  const std::string path = "/sys/devices/pci0000:16/0000:16:01.0/config";
  write(path, config.substr(0, 64));
  EXPECT_THAT(text(), Not(HasSubstr("ACSCtl")));
  write(path, config);
  EXPECT_THAT(text(), HasSubstr("0000:16:01.0 PCI bridge: of this host\n"
                                "        ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd- EgressCtrl- "
                                "DirectTrans-\n"));
  config[0x152] = '\x01';  // a list without an end
  config[0x150] = '\x01';
  config[0x153] = '\x15';
  write(path, config);
  EXPECT_THAT(text(), Not(HasSubstr("ACSCtl")));
}

TEST_F(Host, IsWrittenAsNcclWritesItWithoutRootPortsAndDownstreamPorts) {
  const std::string top = "pci0000:16/0000:16:01.0/0000:17:00.0/";
  add_pci("pci0000:16/0000:16:01.0", "0x060400", "0x8086", 0);
  add_pci("pci0000:16/0000:16:01.0/0000:17:00.0", "0x060400", "0x1000", 0);
  add_pci(top + "0000:18:00.0", "0x060400", "0x1000", 0);
  add_pci(top + "0000:18:00.0/0000:19:00.0", "0x030200", "0x10de", 0);
  add_pci(top + "0000:18:01.0/0000:1a:00.0", "0x020700", "0x15b3", 0);
  add_pci("pci0000:80/0000:80:01.0/0000:81:00.0", "0x030200", "0x10de", 1);
  link("/sys/class/infiniband/mlx5_0/device", "/sys/devices/" + top + "0000:18:01.0/0000:1a:00.0");
  write("/sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  const std::string xml = node_xml(files());
  std::size_t last = 0;
  for (const char* const id :
       {"numaid=\"0\"", "busid=\"0000:17:00.0\"", "busid=\"0000:19:00.0\"", "<gpu dev=\"0\"", "busid=\"0000:1a:00.0\"",
        "name=\"mlx5_0\" dev=\"0\" speed=\"400000\"", "numaid=\"1\"", "busid=\"0000:81:00.0\"", "<gpu dev=\"1\""}) {
    const std::size_t at = xml.find(id);
    ASSERT_NE(at, xml.npos) << id << "\n" << xml;
    EXPECT_LT(last, at) << id << " stands too early in\n" << xml;
    last = at;
  }
  for (const char* const hidden : {"0000:16:01.0", "0000:18:00.0", "0000:18:01.0", "0000:80:01.0"})
    EXPECT_THAT(xml, Not(HasSubstr(hidden)));
}

TEST(Nvml, PrintsAsNvidiaSmiDoes) {
  const char* const slow =
      "GPU 00000001:18:00.0\n    Product Name : NVIDIA H200\n    Link Width\n        Max : 16x\n        Current : 8x\n"
      "    Clocks Event Reasons\n        HW Slowdown : Not Active\n        SW Thermal Slowdown : Not Active\n"
      "        HW Thermal Slowdown : Active\n        HW Power Brake Slowdown : Not Active\n    Link 0: <inactive>\n";
  const std::string all = read_nvml(nullptr);  // this program itself
  EXPECT_THAT(all, testing::StartsWith("Driver Version : 550.90.07\nGPU 00000000:18:00.0\n"));
  EXPECT_THAT(all, testing::EndsWith(slow));
  EXPECT_THAT(all, HasSubstr("    Link 0: active\n"));
}

TEST(Verbs, PrintsMtusAsIbvDevinfoDoes) {
  EXPECT_EQ(read_verbs(nullptr),
            "hca_id: mlx5_0\n    port: 1\n        max_mtu: 4096 (5)\n        active_mtu: 1024 (3)\n");
}

TEST(RocmSmi, TellsHowGpusReachEachOther) {
  const std::string all = read_rocm_smi(nullptr);
  EXPECT_THAT(all, HasSubstr("host part 0001:0c:00.0 reaches GPU 0001:0d:00.0 by xGMI\n"));
  EXPECT_THAT(all, HasSubstr("host part 0001:0c:00.0 reaches GPU 0001:0e:00.0 by PCIe\n"));
  EXPECT_THAT(all, HasSubstr("host part 0001:0d:00.0 has errors on xGMI\n"));
  EXPECT_THAT(all, Not(HasSubstr("0001:0c:00.0 has errors")));
}

TEST(Hwloc, KnowsTheNumaNodeOfADeviceThatIsOnOne) {
  const std::map<std::string, int> nodes = numa_nodes_of_pci(hwloc_xml_of_host(nullptr));
  EXPECT_THAT(nodes, testing::ElementsAre(testing::Pair("0000:81:00.0", 32)));
  EXPECT_TRUE(numa_nodes_of_pci("<topology").empty());
}

TEST(Libraries, ThatAreMissingSayNothing) {
  const char* const none = "libbusbar-none.so.1";
  EXPECT_EQ(read_nvml(none), "");
  EXPECT_EQ(read_verbs(none), "");
  EXPECT_EQ(read_rocm_smi(none), "");
  EXPECT_EQ(hwloc_xml_of_host(none), "");
}

}  // namespace
}  // namespace busbar::host
