// The fields of a request about a machine, and of its result.
#include <string>
#include <utility>

#include "busbar/questions/machine_request.h"
#include "busbar/questions/topo_question.h"

namespace busbar::questions {

const Record& record_of(const LargestModel*) {
  static const Record record("model",
                             {{"what", &LargestModel::what, "", "what each parameter is kept for"},
                              {"bytes_per_parameter", &LargestModel::bytes_per_parameter, "bytes", "of memory"},
                              {"parameters", &LargestModel::parameters, "", "that fit"}});
  return record;
}

namespace {

Field part_field(Field f) { return std::move(f).of("Parts"); }
Field file_field(Field f) { return std::move(f).of("Files").takes("FILE").undecided(); }

}  // namespace

const Record& record_of(const TopoRequest*) {
  using Q = TopoRequest;
  static const Record record(
      "topo request",
      joined(
          {{part_field({"matrix", &Q::matrix, "",
                        "paths between the devices of one node, in the format of nvidia-smi topo -m"}),
            part_field({"tree", &Q::tree, "", "the sockets of one node and the devices below them"}),
            part_field({"bandwidth", &Q::bandwidth, "",
                        "GB/s of each pair of GPUs of one node alone, one and both directions, as "
                        "p2pBandwidthLatencyTest shows them"}),
            part_field(
                {"latency", &Q::latency, "", "latency in us of each pair of GPUs of one node, without software"}),
            part_field({"hops", &Q::hops, "", "number of links between the GPUs and NICs of one node"}),
            part_field(
                {"levels", &Q::levels, "", "rate, latency and ratio per tier (the default without another part)"}),
            part_field({"all", &Q::all, "", "levels, tree and matrix; with --json also devices and links"}),
            part_field(
                Field("node", &Q::node, "", "the node for tables, tree, --nccl-xml and --svg (default 0)").takes("N")),
            file_field(
                {"svg", &Q::svg, "", "draw the network; or the inside of a node, with --node or without a network"}),
            file_field({"nccl_xml", &Q::nccl_xml, "", "one node as a topology file for NCCL_TOPO_FILE"}),
            file_field({"dot", &Q::dot, "", "the machine as a graph for Graphviz"}),
            file_field(Field("yaml", &Q::yaml, "",
                             "the machine as a commented cluster file that names no other machine; - prints it")
                           .without({"degrade", "fail"})),
            file_field({"cables", &Q::cables, "", "list of cables with length, medium and part as CSV"}),
            cluster_field(&Q::cluster, false),
            Field("root", &Q::root, "",
                  "without a machine: read copies of the folders sys and proc below DIR instead of this host")
                .takes("DIR")
                .of("Machine")},
           fields_inside(&Q::machine),
           {explain_field(&Q::explain)}}));
  return record;
}

const Record& record_of(const TopoNic*) {
  static const Record record("NIC",
                             {{"name", &TopoNic::name, "", "mlx5_0 with RDMA, otherwise eth0"},
                              {"rate_bytes_per_s", &TopoNic::rate_bytes_per_s, "B/s", "of the port; null: not known"},
                              {"state", &TopoNic::state, "", "ACTIVE, up, ..."},
                              {"layer", &TopoNic::layer, "", "InfiniBand or Ethernet"},
                              {"rdma", &TopoNic::rdma, "", "it has RDMA"},
                              {"numa_node", &TopoNic::numa_node, "", "null: not known"},
                              {"pci", &TopoNic::pci, "", "bus id; empty for virtual devices"}});
  return record;
}

const Record& record_of(const TopoLevel*) {
  static const Record record(
      "level", {{"name", &TopoLevel::name, "", "hbm, scale-up, c2c, pcie, nic, leaf, spine, core"},
                {"GBps_per_direction", &TopoLevel::GBps_per_direction, "GB/s", "per GPU, on the wire"},
                {"payload_GBps", &TopoLevel::payload_GBps, "GB/s", "per GPU, of payload"},
                {"latency_ns", &TopoLevel::latency_ns, "ns", "one way to a peer, without software; null: not modelled"},
                {"ratio", &TopoLevel::ratio, "", "how many times narrower than the level before; null: the first"},
                {"counted", &TopoLevel::counted, "", "what the figures include"}});
  return record;
}

const Record& record_of(const TopoDomain*) {
  static const Record record(
      "domain", {{"gpus", &TopoDomain::gpus, "", "that scale-up links connect"},
                 {"memory_bytes", &TopoDomain::memory_bytes, "bytes", "of all of them"},
                 {"ports_GBps_per_direction", &TopoDomain::ports_GBps, "GB/s", "of all scale-up ports, on the wire"},
                 {"largest_models", &TopoDomain::largest_models, "", "that fit, without activations"}});
  return record;
}

const Record& record_of(const TopoFabric*) {
  static const Record record(
      "fabric",
      {{"kind", &TopoFabric::kind, "", "none, single-switch, leaf-spine, rail-optimised, ..."},
       {"network", &TopoFabric::network, "", "InfiniBand NDR, ..."},
       {"wiring", &TopoFabric::wiring, "", "of NICs on leaves: by-node, dealt, by-rail; null: one switch, or no tree"},
       {"oversubscription", &TopoFabric::oversubscription, "", "of the leaves, as built; of a dragonfly, half to half"},
       {"oversubscription_asked", &TopoFabric::oversubscription_asked, "", "as the file gives it"}});
  return record;
}

const Record& record_of(const TopoRoot*) {
  static const Record record("PCIe root", {{"top", &TopoRoot::top, "", "the device that others share"},
                                           {"gpus", &TopoRoot::gpus, "", "below it"},
                                           {"nics", &TopoRoot::nics, "", "below it"}});
  return record;
}

const Record& record_of(const TopoTier*) {
  static const Record record(
      "tier", {{"tier", &TopoTier::tier, "", "scale-up, leaf, spine; of a dragonfly groups, half to half"},
               {"ratio", &TopoTier::ratio, "", "how many times less passes than reaches it"},
               {"non_blocking", &TopoTier::non_blocking, "", "the ratio is 1 or less"}});
  return record;
}

const Record& record_of(const TopoOptical*) {
  static const Record record(
      "optical switches",
      {{"switches", &TopoOptical::switches, "", "circuit switches"},
       {"cube", &TopoOptical::cube, "", "chips along an edge of a cube that is wired with copper"},
       {"links", &TopoOptical::links, "", "fibres from cubes to switches"},
       {"switching_s", &TopoOptical::switching_s, "s", "until light passes the new way"},
       {"initialisation_s", &TopoOptical::initialisation_s, "s", "the links train again"},
       {"reconfiguration_s", &TopoOptical::reconfiguration_s, "s", "until another shape is connected"}});
  return record;
}

const Record& record_of(const TopoCablePart*) {
  static const Record record("cable part", {{"name", &TopoCablePart::name, "", "dac-100g-lanes, ..."},
                                            {"medium", &TopoCablePart::medium, "", "copper, fibre, ..."},
                                            {"reach_m", &TopoCablePart::reach_m, "m", "the longest cable it allows"},
                                            {"cables", &TopoCablePart::cables, "", "with this part at their upper end"},
                                            {"ends", &TopoCablePart::ends, "", "of cables with this part"},
                                            {"length_m", &TopoCablePart::length_m, "m", "of all of them"},
                                            {"longest_m", &TopoCablePart::longest_m, "m", "the longest of them"},
                                            {"power_w", &TopoCablePart::power_w, "W", "of all ends"}});
  return record;
}

const Record& record_of(const TopoCabling*) {
  static const Record record(
      "cabling", {{"cables", &TopoCabling::cables, "", "of the network"},
                  {"length_m", &TopoCabling::length_m, "m", "of all cables"},
                  {"transceivers", &TopoCabling::transceivers, "", "optical and pluggable modules"},
                  {"too_long", &TopoCabling::too_long, "", "cables that are too long for any of the parts"},
                  {"cables_power_w", &TopoCabling::cables_power_w, "W", "of cables and optics"},
                  {"switches", &TopoCabling::switches, "", "of the network"},
                  {"switches_power_w", &TopoCabling::switches_power_w, "W", "of all of them; null: not known"},
                  {"parts", &TopoCabling::parts, "", "in the order of the file"}});
  return record;
}

const Record& record_of(const TopoMatrix*) {
  static const Record record("matrix",
                             {{"names", &TopoMatrix::names, "", "of the devices: GPU0, NIC3"},
                              {"cells", &TopoMatrix::cells, "", "X, NV18, PIX, ...: one row per device"},
                              {"cpu_affinity", &TopoMatrix::cpu_affinity, "", "the nearest socket, or N/A"},
                              {"numa_affinity", &TopoMatrix::numa_affinity, "", "the nearest NUMA node, or N/A"},
                              {"legend", &TopoMatrix::legend, "", "what the words mean"}});
  return record;
}

const Record& record_of(const TopoDevice*) {
  static const Record record("device",
                             {{"name", &TopoDevice::name, "", "node0.gpu3"},
                              {"kind", &TopoDevice::kind, "", "gpu, nic, leaf, ..."},
                              {"part", &TopoDevice::part, "", "its product"},
                              Field("numa", &TopoDevice::numa, "", "its NUMA node").or_absent(),
                              Field("memory_bytes", &TopoDevice::memory_bytes, "bytes", "its memory").or_absent()});
  return record;
}

const Record& record_of(const TopoLink*) {
  static const Record record("link", {{"from", &TopoLink::from, "", "one end"},
                                      {"to", &TopoLink::to, "", "the other end"},
                                      {"kind", &TopoLink::kind, "", "nvlink, pcie, infiniband, ..."},
                                      {"class", &TopoLink::part, "", "its part: pcie5 x16"},
                                      {"lanes", &TopoLink::lanes, "", "of the link"},
                                      {"GBps_per_direction", &TopoLink::GBps_per_direction, "GB/s", "on the wire"},
                                      {"payload_GBps", &TopoLink::payload_GBps, "GB/s", "of payload, per direction"},
                                      {"latency_ns", &TopoLink::latency_ns, "ns", "first bit in to first bit out"},
                                      {"health", &TopoLink::health, "", "1; less: degraded; 0: failed"}});
  return record;
}

const Record& record_of(const TopoHost*) {
  static const Record record("host",
                             {{"cluster", &TopoHost::cluster, "", "this host"},
                              {"gpus", &TopoHost::gpus, "", "0"},
                              {"nics", &TopoHost::nics, "", "network devices"},
                              {"numa_nodes_online", &TopoHost::numa_nodes_online, "", "such as 0-1; null: not known"},
                              {"inputs_hash", &TopoHost::inputs_hash, "", "of everything that the result depends on"}});
  return record;
}

const Record& record_of(const TopoResult*) {
  using R = TopoResult;
  static const Record record(
      "topo", {{"cluster", &R::cluster, "", "name of the machine"},
               {"counts", &R::counts, "", "devices of each kind, nodes and links"},
               {"levels", &R::levels, "", "tiers that a byte crosses, from the inside out"},
               {"bisection_GBps", &R::bisection_GBps, "GB/s", "one direction, on the wire"},
               {"bisection_kind", &R::bisection_kind, "", "exact, symmetric or tiers: how the cut was found"},
               {"bisection_cut", &R::bisection_cut, "", "the halves and the links between them"},
               {"memory_bytes_total", &R::memory_bytes_total, "bytes", "of all GPUs"},
               {"scale_up_domain", &R::scale_up_domain, "", "of the first GPU"},
               {"fabric", &R::fabric, "", "the network"},
               {"gpus_per_nic", &R::gpus_per_nic, "", "of a node; null: no NIC"},
               {"pcie_roots", &R::pcie_roots, "", "of a node, with what shares them"},
               {"tiers", &R::tiers, "", "of the machine, from the inside out"},
               {"p2p", &R::p2p, "", "GPUs reach each other over PCIe"},
               {"gpudirect", &R::gpudirect, "", "NICs and drives reach GPUs"},
               {"optical_switches", &R::optical_switches, "", "per scale-up domain; null: none"},
               {"cabling", &R::cabling, "", "of the network; null: no cables"},
               Field("matrix", &R::matrix, "", "how devices of a node reach each other").or_absent(),
               Field("devices", &R::devices, "", "all of them").or_absent(),
               Field("links", &R::links, "", "all of them, one entry for both directions").or_absent(),
               Field("pairs", &R::pairs, "", "each pair of GPUs of a node alone").or_absent(),
               Field("hops", &R::hops, "", "links between devices of a node").or_absent(),
               {"inputs_hash", &R::inputs_hash, "", "of everything that the result depends on"}});
  return record;
}

}  // namespace busbar::questions
