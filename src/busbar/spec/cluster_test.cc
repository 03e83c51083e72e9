#include "busbar/spec/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "busbar/base/random.h"
#include "busbar/topology/levels.h"

namespace busbar::spec {
namespace {

using testing::HasSubstr;

/// A file that exists as long as the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("busbar_cluster_test_" + std::to_string(::getpid()) + ".yaml")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

Result<Cluster> load_text(const std::string& text, const Overrides& overrides = {}) {
  const TemporaryFile file(text);
  return load_cluster(file.path(), overrides);
}

/// The message without the folder of the file.
std::string why(const Result<Cluster>& r) {
  if (r.ok()) return "no error";
  std::string text = r.error().text();
  const std::size_t end = text.find(".yaml:");
  return text.starts_with("/") && end != std::string::npos ? "f" + text.substr(end) : text;
}
std::string why(const std::string& text, const Overrides& overrides = {}) { return why(load_text(text, overrides)); }

Overrides set(const std::vector<std::string>& what) {
  Overrides o;
  o.set = what;
  return o;
}

/// Total wire rate from device `a` to device `b`, GB/s.
double rate_between(const topology::Topology& t, const std::string& a, const std::string& b) {
  const topology::DeviceId from = t.find(a).value(), to = t.find(b).value();
  double sum = 0;
  for (const topology::LinkId l : t.out_links(from)) {
    if (t.to(l) == to) sum += static_cast<double>(per_second(t.link_class(l).wire_rate)) / 1e9;
  }
  return sum;
}

std::uint32_t counted(const topology::Topology& t, topology::DeviceKind kind) {
  for (const auto& [k, n] : topology::device_counts(t)) {
    if (k == kind) return n;
  }
  return 0;
}

TEST(Cluster, DgxH100IsWhole) {
  const Cluster c = load_cluster("dgx-h100").value();
  const topology::Topology& t = c.topology;
  EXPECT_EQ(counted(t, topology::DeviceKind::kGpu), 8u);
  EXPECT_EQ(counted(t, topology::DeviceKind::kNvSwitch), 4u);
  EXPECT_EQ(counted(t, topology::DeviceKind::kPcieSwitch), 8u);
  EXPECT_EQ(counted(t, topology::DeviceKind::kCpu), 2u);
  EXPECT_EQ(counted(t, topology::DeviceKind::kNuma), 2u);
  EXPECT_EQ(counted(t, topology::DeviceKind::kNic), 10u);  // 8 compute, 2 storage
  for (int g = 0; g < 8; ++g) {
    const std::string gpu = "node0.gpu" + std::to_string(g), pcie = "node0.pcie" + std::to_string(g);
    const double expected[] = {125, 100, 100, 125};  // 5, 4, 4, 5 links of 25 GB/s
    for (int s = 0; s < 4; ++s) {
      EXPECT_EQ(rate_between(t, gpu, "node0.nvswitch" + std::to_string(s)), expected[s]);
    }
    EXPECT_EQ(rate_between(t, gpu, pcie), 64);
    EXPECT_EQ(rate_between(t, pcie, "node0.nic" + std::to_string(g)), 64);
    EXPECT_EQ(rate_between(t, pcie, g < 4 ? "node0.cpu0" : "node0.cpu1"), 64);
    EXPECT_EQ(t.numa(t.find(gpu).value()), g < 4 ? 0 : 1);
  }
  EXPECT_EQ(count(topology::total_memory(t)), 680'151'020'992u);  // 8 of 79.18 GiB
  EXPECT_EQ(c.gpu_part, "h100-sxm");
  EXPECT_GT(c.usd_per_gpu_hour, 2);
  EXPECT_LT(c.usd_per_gpu_hour, 5);
  EXPECT_GT(c.protocol.launch, Duration());
  EXPECT_THAT(c.sources, testing::Contains(HasSubstr("QM9700")).Times(0));  // no fabric, no switch
}

TEST(Cluster, DgxA100HasItsPlaces) {
  const topology::Topology t = load_cluster("dgx-a100").value().topology;
  const std::int16_t numa[] = {3, 3, 1, 1, 7, 7, 5, 5};
  for (int g = 0; g < 8; ++g) {
    const std::string gpu = "node0.gpu" + std::to_string(g), pcie = "node0.pcie" + std::to_string(g / 2);
    for (int s = 0; s < 6; ++s) EXPECT_EQ(rate_between(t, gpu, "node0.nvswitch" + std::to_string(s)), 50);
    const std::string gpu_port = "node0.pciegpu" + std::to_string(g), nic_port = "node0.pcienic" + std::to_string(g);
    EXPECT_EQ(rate_between(t, gpu, gpu_port), 32);
    EXPECT_EQ(rate_between(t, gpu_port, pcie), 32) << "each lower level has a link of its own upwards";
    EXPECT_EQ(rate_between(t, nic_port, pcie), 32);
    EXPECT_EQ(rate_between(t, nic_port, "node0.nic" + std::to_string(g)), 32);
    EXPECT_EQ(t.numa(t.find(gpu).value()), numa[g]);
  }
  EXPECT_EQ(counted(t, topology::DeviceKind::kNuma), 8u);
}

TEST(Cluster, SixtyFourDgxH100StandOnRails) {
  const Cluster c = load_cluster("dgx-h100:64").value();
  EXPECT_EQ(c.topology.gpus().size(), 512u);
  EXPECT_EQ(c.fabric.kind, "rail-optimised");
  EXPECT_EQ(c.fabric.network, "InfiniBand NDR");
  EXPECT_EQ(c.fabric.switches, (std::vector<std::uint32_t>{16, 8}));
  EXPECT_EQ(c.fabric.oversubscription, 1);
  EXPECT_EQ(rate_between(c.topology, "node40.nic3", "leaf11"), 50);  // second unit, rail 3
  EXPECT_EQ(rate_between(c.topology, "leaf11", "spine7"), 4 * 50);
  for (const topology::LinkId l : c.topology.out_links(c.topology.find("node9.storage0").value())) {
    EXPECT_FALSE(topology::is_fabric(c.topology.link_class(l).kind)) << "storage NICs are not cabled";
  }
  EXPECT_THAT(c.sources, testing::Contains(HasSubstr("QM9700")));
}

TEST(Cluster, LatencyOfACableIsItsLengthAndHalfOfBothDevices) {
  const topology::Topology t = load_cluster("dgx-h100:64").value().topology;
  const auto latency = [&](const char* a, const char* b) {
    for (const topology::LinkId l : t.out_links(t.find(a).value())) {
      if (t.to(l) == t.find(b).value()) return t.link_class(l).latency;
    }
    return Duration::max();
  };
  EXPECT_EQ(latency("node0.nic0", "leaf0"), Duration::ns(5 * 5 + (700 + 250) / 2));
  EXPECT_EQ(latency("leaf0", "spine0"), Duration::ns(20 * 5 + 250));
}

TEST(Cluster, SetReachesIntoThePresetAndItsFabric) {
  const auto with = [](const std::string& what) { return load_cluster("dgx-h100:64", set({what})).value(); };
  EXPECT_EQ(rate_between(with("fabric.link.rate=200Gb/s").topology, "node0.nic0", "leaf0"), 25);
  EXPECT_EQ(rate_between(with("fabric.network.link.rate=800Gb/s").topology, "node0.nic0", "leaf0"), 100);
  EXPECT_EQ(with("fabric.oversubscription=2").fabric.oversubscription, 2);
  EXPECT_EQ(with("nodes=3").topology.gpus().size(), 24u);
  EXPECT_EQ(with("fabric=ndr-leaf-spine").fabric.kind, "leaf-spine");
  EXPECT_EQ(with("routing=spray").routing, topology::RoutingPolicy::kSpray);
  EXPECT_EQ(with("seed=7").seed, 7u);
  EXPECT_EQ(with("price.usd_per_gpu_hour=2").usd_per_gpu_hour, 2);
  const Cluster faster = with("node.links[0].rate=250GB/s");
  EXPECT_EQ(rate_between(faster.topology, "node5.gpu3", "node5.nvswitch3"), 250);
  const Cluster quick = with("protocol.launch=1us");
  EXPECT_EQ(quick.protocol.launch, Duration::us(1));
  EXPECT_EQ(quick.protocol.step_network, load_cluster("dgx-h100:64")->protocol.step_network);
}

TEST(Cluster, GpuMemoryRateComesFromTheFileAPathOrAFlag) {
  const auto rate = [](const Overrides& overrides, const char* cluster) {
    const auto c = load_cluster(cluster, overrides);
    if (!c.ok()) return why(c);
    for (const topology::DeviceId gpu : c->topology.gpus())
      EXPECT_EQ(c->topology.device_class(gpu).memory_rate, c->topology.device_class(c->topology.gpus()[0]).memory_rate);
    return std::to_string(per_second(c->topology.device_class(c->topology.gpus()[0]).memory_rate));
  };
  EXPECT_EQ(rate({}, "dgx-h100:2"), "3350000000000");
  Overrides by_name, by_flag, wrong;
  by_name.set = {"node.devices[gpu].memory_rate=1TB/s"};
  by_flag.gpu_memory_rate = "8TB/s";
  wrong.gpu_memory_rate = "8000";
  EXPECT_EQ(rate(by_name, "dgx-h100:2"), "1000000000000");
  EXPECT_EQ(rate(by_flag, "dgx-h100:2"), "8000000000000");
  EXPECT_THAT(rate(wrong, "dgx-h100"), HasSubstr("--gpu-memory-rate: '8000' has no unit"));
}

TEST(Cluster, FaultsComeFromTheFileAndTheCommandLine) {
  const std::string text = "node: dgx-h100\nnodes: 4\nfaults:\n  - {degrade: node1.gpu2-nvswitch0, factor: 0.5}\n";
  Overrides o;
  o.degrade = {"leaf0-spine0=0.25"};
  o.fail = {"node3.nic7"};
  const Cluster c = load_text(text, o).value();
  const topology::Topology& t = c.topology;
  const auto health = [&](const char* a, const char* b) {
    const topology::DeviceId to = t.find(b).value();
    for (const topology::LinkId l : t.out_links(t.find(a).value())) {
      if (t.to(l) == to) return t.link_class(l).health;
    }
    return 0.0;
  };
  EXPECT_EQ(health("node1.gpu2", "node1.nvswitch0"), 0.5);
  EXPECT_EQ(health("node1.nvswitch0", "node1.gpu2"), 0.5);
  EXPECT_EQ(health("node1.gpu2", "node1.nvswitch1"), 1);
  EXPECT_EQ(health("leaf0", "spine0"), 0.25);
  EXPECT_EQ(health("node3.nic7", "node3.pcie7"), 0);
  EXPECT_EQ(health("node3.nic6", "node3.pcie6"), 1);
}

TEST(Cluster, BenchCasesMatchTheirNames) {
  for (const std::uint32_t n : {512u, 4096u, 65536u}) {
    const Cluster a = load_cluster("bench/cases/ar-a-" + std::to_string(n) + ".yaml").value();
    EXPECT_EQ(a.topology.gpus().size(), n);
    EXPECT_EQ(a.topology.link_count(), 2 * n);
    for (const topology::LinkClass& c : a.topology.link_classes()) {
      EXPECT_EQ(per_second(c.payload_rate()), 450'000'000'000u);
      EXPECT_EQ(c.latency, Duration::ns(500));
    }
  }
  for (const std::uint32_t n : {512u, 4096u, 16384u, 65536u}) {
    const Cluster b = load_cluster("bench/cases/ar-b-" + std::to_string(n) + ".yaml").value();
    EXPECT_EQ(b.topology.gpus().size(), n);
    EXPECT_EQ(b.topology.blocks().size(), n / 8);
    EXPECT_EQ(b.fabric.kind, "single-switch");
    EXPECT_EQ(counted(b.topology, topology::DeviceKind::kSwitch), 1u);
    EXPECT_EQ(rate_between(b.topology, "node1.nic3", "switch0"), 50);
    EXPECT_EQ(rate_between(b.topology, "node1.gpu3", "node1.nic3"), 1'000'000);
    EXPECT_EQ(b.protocol.launch, Duration());
    EXPECT_EQ(b.protocol.step_network, Duration());
    EXPECT_EQ(count(b.protocol.chunk), 0u);
  }
}

TEST(Cluster, LargeMachinesLoad) {
  for (const char* name : {"bench/cases/ar-a-65536.yaml", "bench/cases/ar-b-65536.yaml", "dgx-h100:8192"}) {
    EXPECT_EQ(load_cluster(name)->topology.gpus().size(), 65'536u);
  }
}

TEST(Cluster, TextHoldsEverythingThatWasReadAndTyped) {
  const Cluster plain = load_cluster("dgx-h100:2").value();
  EXPECT_THAT(plain.text, HasSubstr("3.35TB/s"));
  EXPECT_THAT(plain.text, HasSubstr("QM9700"));
  Overrides o;
  o.degrade = {"node0.nic0=0.5"};
  EXPECT_NE(load_cluster("dgx-h100:2", o)->text, plain.text);
  EXPECT_NE(load_cluster("dgx-h100:2", set({"seed=1"}))->text, plain.text);
}

TEST(ClusterBadInput, NamesThePlaceAndTheRemedy) {
  const std::string node =
      "node:\n  devices:\n    - {name: gpu, count: 2}\n    - {name: nvswitch, count: 1}\n  links:\n";
  const auto link = [&](const std::string& keys) {
    return why(node + "    - {between: [gpu*, nvswitch0], kind: nvlink, " + keys + "}\n");
  };
  EXPECT_EQ(link("rate: 400"), "f.yaml:6:56: node.links[0].rate: '400' has no unit; write 400Gb/s");
  EXPECT_EQ(link("rate: -400Gb/s"), "f.yaml:6:56: node.links[0].rate: '-400Gb/s' is negative; a rate must not be");
  EXPECT_THAT(link("rate: 0GB/s"), HasSubstr("is zero"));
  EXPECT_THAT(link("rat: 4GB/s"), HasSubstr("node.links[0]: the key 'rate' is missing"));
  EXPECT_EQ(link("rate: 4GB/s, lanse: 3"), "f.yaml:6:63: node.links[0]: unknown key 'lanse'; did you mean 'lanes'?");
  EXPECT_THAT(link("rate: 4GB/s, efficiency: 1.5"), HasSubstr("must be between"));
  EXPECT_THAT(link("rate: 4GB/s, latency: -1us"), HasSubstr("is negative"));
  EXPECT_THAT(link("rate: 4GB/s, rate: 5GB/s"), HasSubstr("already given in line 6"));
  EXPECT_THAT(
      why(node + "    - {between: [gpu*, nvswitch7], kind: nvlink, rate: 1GB/s}\n"),
      HasSubstr("f.yaml:6:24: node.links[0].between[1]: no device of this node is called 'nvswitch7'; did you mean"));
  EXPECT_THAT(why(node + "    - {between: [gpu#, nvswitch#], kind: nvlink, rate: 1GB/s}\n"),
              HasSubstr("gpu1 has no 'nvswitch1'"));
  EXPECT_THAT(why(node + "    - {between: [gpu0, gpu0], kind: nvlink, rate: 1GB/s}\n"), HasSubstr("to itself"));
  EXPECT_THAT(why(node + "    - {between: [gpu0], kind: nvlink, rate: 1GB/s}\n"),
              HasSubstr("expected two device names"));
  EXPECT_THAT(why(node + "    - {between: [gpu*, nvswitch0], kind: nvlnk, rate: 1GB/s}\n"),
              HasSubstr("did you mean 'nvlink'?"));
  EXPECT_THAT(why(node + "    - {between: [gpu*, nvswitch0], kind: ideal, rate: 1GB/s}\n"),
              HasSubstr("links inside a node"));
}

TEST(ClusterBadInput, RefusesMachinesThatCannotBe) {
  EXPECT_THAT(why("nodes: 4\n"), HasSubstr("f.yaml:1:1: the key 'node' is missing: a board of 'busbar catalog nodes'"));
  EXPECT_THAT(why("nod: dgx-h100\n"), HasSubstr("is 'nod' meant as 'node'?"));
  EXPECT_THAT(why("node: dgx-h100\nservers: 4\n"),
              HasSubstr("f.yaml:2:1: unknown key 'servers': the number of servers is 'nodes'"));
  EXPECT_THAT(why("node: dgx-h100\nnetwork: infiniband\n"), HasSubstr("the network is a key of the fabric"));
  EXPECT_THAT(why("cluster: {nodes: 4}\n"), HasSubstr("the keys of a cluster stand at the top"));
  EXPECT_THAT(why("node: {gpus: 8}\n"), HasSubstr("f.yaml:1:8: node: unknown key 'gpus': GPUs are devices"));
  EXPECT_THAT(why("node: dgx-h10\n"), HasSubstr("f.yaml:1:7: node: the catalogue has no 'dgx-h10' among its nodes"));
  EXPECT_THAT(why("node: dgx-h100\nnodes: 0\n"), HasSubstr("f.yaml:2:8: nodes: 0 is out of range"));
  EXPECT_THAT(why("node: dgx-h100\nnodes: -3\n"), HasSubstr("out of range"));
  EXPECT_THAT(why("node: dgx-h100\nnodes: 2.5\n"), HasSubstr("not a whole number"));
  EXPECT_THAT(why("node: dgx-h100\nnodes: 4\nfabric: none\n"), HasSubstr("4 nodes, but no fabric joins them"));
  EXPECT_THAT(why("node: dgx-h100\nnodes: 1000000\n"), HasSubstr("are more than"));
  EXPECT_THAT(why("node: dgx-h100\nrouting: sprey\n"), HasSubstr("did you mean 'spray'?"));
  EXPECT_THAT(why("node: {devices: [{name: nic, count: 2}]}\n"), HasSubstr("there is no GPU among the devices"));
  EXPECT_THAT(why("node: {devices: [{name: gpu, count: 99999999999}]}\n"), HasSubstr("out of range"));
  EXPECT_THAT(why("node: {devices: [{name: thing, count: 2}]}\n"), HasSubstr("the kind of 'thing' is not known"));
  EXPECT_THAT(why("node: {devices: [{name: gpu, count: 4}, {name: gpu3, kind: gpu}]}\n"),
              HasSubstr("two devices would be called 'gpu3'"));
  EXPECT_THAT(why("node: {devices: [{name: gpu, count: 2, part: h100-sxn}]}\n"), HasSubstr("did you mean 'h100-sxm'?"));
  EXPECT_THAT(why("node: {devices: [{name: a.b, kind: gpu}]}\n"), HasSubstr("is not a device name"));
  EXPECT_THAT(
      why("node: dgx-h100\nnodes: 9\nfabric: {kind: single-switch, network: infiniband-ndr, switch: {splits: 1}}\n"),
      HasSubstr(
          "f.yaml:3:9: fabric: a single-switch fabric for 9 nodes of 8 NICs cannot be built: 72 NICs do not fit"));
  EXPECT_THAT(why("node: dgx-h100\nnodes: 9\nfabric: {kind: leaf-spine}\n"), HasSubstr("the fabric has no rate"));
  EXPECT_THAT(why(""), HasSubstr("expected keys and values, found nothing"));
  EXPECT_THAT(why("[1, 2]\n"), HasSubstr("found a list"));
}

TEST(ClusterBadInput, NamesTheGpuThatIsDisconnected) {
  const std::string text =
      "node:\n  devices:\n    - {name: gpu, count: 3}\n    - {name: nvswitch, count: 1}\n  links:\n"
      "    - {between: [\"gpu[01]\", nvswitch0], kind: nvlink, rate: 25GB/s}\n";
  EXPECT_THAT(why(text), HasSubstr("node0.gpu2 is disconnected: it has no live link; give it a link"));
  Overrides o;
  o.fail = {"node2.gpu5"};
  EXPECT_THAT(why(load_cluster("dgx-h100:4", o)), HasSubstr("node2.gpu5 is disconnected"));
  o.fail = {"node2.nic*"};
  EXPECT_THAT(why(load_cluster("dgx-h100:4", o)), HasSubstr("node2.gpu0 cannot reach the other GPUs"));
  o.fail = {"node2.nic3"};  // the other NICs of the node remain
  EXPECT_TRUE(load_cluster("dgx-h100:4", o).ok());
}

TEST(ClusterBadInput, FlagsAreNamed) {
  const auto degrade = [](const char* text) {
    Overrides o;
    o.degrade = {text};
    return why(load_cluster("dgx-h100:4", o));
  };
  EXPECT_EQ(degrade("node1.nic2"), "--degrade: 'node1.nic2' has no '='; write SELECTOR=FACTOR");
  EXPECT_THAT(degrade("node1.nic2=x"), HasSubstr("--degrade: 'x' is not a number"));
  EXPECT_THAT(degrade("node1.nic2=1.5"), HasSubstr("must lie between 0 and 1"));
  EXPECT_THAT(degrade("node1.nik2=0.5"), HasSubstr("did you mean 'node1.nic2'?"));
  EXPECT_EQ(why(load_cluster("dgx-h100", set({"nodes"}))), "--set: 'nodes' has no '='; write PATH=VALUE");
  EXPECT_EQ(why(load_cluster("dgx-h100:4", set({"fabric.link.rate=200"}))),
            "--set fabric.link.rate: '200' has no unit; write 200Gb/s");
  EXPECT_THAT(why(load_cluster("dgx-h100:4", set({"fabrik.link.rate=200Gb/s"}))),
              HasSubstr("--set fabrik.link.rate: unknown key 'fabrik'; did you mean 'fabric'?"));
  EXPECT_THAT(why(load_cluster("dgx-h100:4", set({"node.links[99].rate=1GB/s"}))), HasSubstr("item 99 does not exist"));
}

TEST(ClusterBadInput, NamesThatLeadNowhere) {
  EXPECT_THAT(why(load_cluster("dgx-h10:4")), HasSubstr("did you mean 'dgx-h100'?"));
  EXPECT_THAT(why(load_cluster("no/such.yaml")), HasSubstr("no/such.yaml: cannot be read"));
  for (const char* name : {"", ":", ":4", "dgx-h100:", "dgx-h100:x", "dgx-h100:-1", "dgx-h100:0", "dgx-h100:4:4",
                           "dgx-h100:99999999999999999999", "../catalog/nodes/dgx-h100"}) {
    EXPECT_FALSE(load_cluster(name).ok()) << name;
  }
}

TEST(ClusterBadInput, MutatedFilesNeverCrash) {
  const std::string good =
      "name: x\nnodes: 2\nnode:\n  devices:\n    - {name: gpu, count: 4, numa: [0, 0, 1, 1]}\n    - {name: nvswitch, "
      "count: 1}\n"
      "    - {name: nic, count: 4}\n  links:\n    - {between: [gpu*, nvswitch0], kind: nvlink, rate: 25GB/s}\n"
      "    - {between: [gpu#, nic#], kind: pcie, rate: 25GB/s, lanes: 4}\nfabric:\n  kind: leaf-spine\n"
      "  network: infiniband-ndr\n  switch: {ports: 8}\n  cable_m: {nic: 3}\nfaults:\n  - {degrade: leaf0-spine0, "
      "factor: 0.5}\n";
  ASSERT_EQ(why(good), "no error");
  RandomStream random(5, "cluster mutations");
  for (int run = 0; run < 1'500; ++run) {
    std::string text = good;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
      const std::size_t at = random.below(text.size());
      switch (random.below(4)) {
        case 0:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          text.erase(at, 1 + random.below(12));
          break;
        case 2:
          text.insert(at, text.substr(random.below(text.size()), random.below(30)));
          break;
        default:
          text.insert(at, 1, "0123456789[]{}*#?-.:"[random.below(20)]);
          break;
      }
      if (text.empty()) text = " ";
    }
    SCOPED_TRACE(text);
    const auto r = load_text(text);
    if (!r.ok()) EXPECT_FALSE(r.error().message.empty());
  }
}

TEST(Cluster, NodesAreTheFirstOnesOfAMachineAndTheSizeOfAPreset) {
  Overrides o;
  o.nodes = 2;
  for (const char* name : {"dgx-h100", "dgx-h100:4", "{node: dgx-h100, nodes: 4, fabric: ndr-rail}"}) {
    const auto part = load_cluster(name, o);
    ASSERT_TRUE(part.ok()) << name << ": " << part.error().text();
    EXPECT_EQ(part->topology.gpus().size(), 16u) << name;
    EXPECT_EQ(part->topology.blocks().size(), 2u) << name;
  }
  EXPECT_EQ(load_cluster("dgx-h100", o)->name, "dgx-h100:2");
  EXPECT_EQ(load_cluster("dgx-h100:4", o)->name, "dgx-h100:2");
  o.nodes = 5;
  const auto none = load_cluster("dgx-h100:4", o);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().text(), "--nodes: 5 nodes asked for, dgx-h100:4 has 4");
}

TEST(Cluster, TooManyGpusNameTheMachineThatHasThem) {
  const auto words = [](const char* name, std::uint64_t asked) {
    return too_many_gpus("-g", asked, load_cluster(name).value(), {}).text();
  };
  EXPECT_EQ(words("dgx-h100:2", 20), "-g: 20 GPUs asked for, dgx-h100:2 has 16; dgx-h100:3 has 24");
  EXPECT_THAT(words("a100-pcie", 8),
              HasSubstr("a100-pcie has 4; a100-pcie:2 has 8 in 2 servers, and --set node.gpus=8"));
  EXPECT_EQ(words("{node: dgx-h100}", 9), "-g: 9 GPUs asked for, {node: dgx-h100} has 8");
}

TEST(Cluster, ServersOfSeveralKindsShareAFabric) {
  const std::string text = "{node: dgx-h100, nodes: 2, more_nodes: [{node: dgx-a100, nodes: 1}], fabric: ndr-rail}";
  const Cluster c = parse_cluster(text, "mixed").value();
  const topology::Topology& t = c.topology;
  ASSERT_EQ(t.gpus().size(), 24u);
  EXPECT_EQ(t.blocks().size(), 3u);
  EXPECT_EQ(t.device_class(t.gpus()[15]).part, "h100-sxm");
  EXPECT_EQ(t.device_class(t.gpus()[16]).part, "a100-sxm-80");
  EXPECT_EQ(c.gpu_part, "h100-sxm");
  EXPECT_EQ(c.assumptions.size(), 1u);
  Overrides two;
  two.nodes = 2;
  EXPECT_EQ(parse_cluster(text, "mixed", two).error().where.path, "--nodes");
  EXPECT_FALSE(parse_cluster("{node: dgx-h100, more_nodes: dgx-a100, fabric: ndr-rail}", "mixed").ok());
  // As many NICs in each server.
  const auto uneven = parse_cluster("{node: dgx-h100, more_nodes: [{node: hgx-a100-4}], fabric: ndr-rail}", "mixed");
  EXPECT_FALSE(uneven.ok() && uneven->topology.gpus().size() != 12);
}

TEST(Cluster, SaysHowNicsAreWiredOnlyWhereThereAreSeveralLeaves) {
  const auto wiring = [](const std::string& kind, int nodes) {
    const std::string text =
        "{node: dgx-h100, nodes: " + std::to_string(nodes) + ", fabric: {network: infiniband-ndr, kind: " + kind + "}}";
    return load_cluster(text).value().fabric.wiring;
  };
  EXPECT_EQ(wiring("rail-optimised", 64), "by-rail");
  EXPECT_EQ(wiring("leaf-spine", 64), "by-node");
  EXPECT_EQ(wiring("leaf-spine", 2), "") << "one leaf";
}

}  // namespace
}  // namespace busbar::spec
