#include "busbar/spec/part_figures_file.h"

#include <fmt/core.h>

#include <charconv>

#include "busbar/spec/internal/identity.h"
#include "busbar/spec/internal/lane.h"
#include "busbar/topology/link.h"

namespace busbar::spec {
namespace {

/// "10de:2330" as vendor << 16 | device.
Result<std::uint32_t> read_pci_id(const YamlNode& node) {
  const std::string& text = node.scalar();
  std::uint32_t vendor = 0, device = 0;
  const char* last = text.data() + text.size();
  const auto first = std::from_chars(text.data(), last, vendor, 16);
  if (first.ec != std::errc() || first.ptr == last || *first.ptr != ':')
    return node.error(fmt::format("'{}' is not a PCI id; write 10de:2330", text));
  const auto second = std::from_chars(first.ptr + 1, last, device, 16);
  if (second.ec != std::errc() || second.ptr != last || (vendor | device) > 0xffff)
    return node.error(fmt::format("'{}' is not a PCI id; write 10de:2330", text));
  return vendor << 16 | device;
}

Result<topology::PartFigures::Gpu> read_gpu(const std::string& name, const YamlNode& map, Reading& reading) {
  topology::PartFigures::Gpu gpu;
  gpu.device_class.kind = topology::DeviceKind::kGpu;
  gpu.device_class.part = name;
  BUSBAR_ASSIGN(gpu.device_class.memory, map.find("memory").value_or(YamlNode()).as_size());
  BUSBAR_ASSIGN(gpu.device_class.memory_rate, map.find("memory_rate").value_or(YamlNode()).as_rate());
  if (const auto kind = map.find("memory_kind")) gpu.device_class.memory_kind = kind->scalar();
  if (const auto identity = map.find("identity")) {
    BUSBAR_RETURN_IF_ERROR(read_gpu_identity(*identity, gpu.device_class));
    const auto ids = identity->find("pci_ids");
    if (ids) BUSBAR_RETURN_IF_ERROR(read_items(*ids, &read_pci_id, gpu.pci_ids));
  }
  const auto scale_up = map.find("scale_up");
  const auto part = scale_up ? scale_up->find("part") : std::nullopt;
  if (part && reading.catalog.has("links", part->scalar())) {
    BUSBAR_ASSIGN(const LinkLane lane, read_lane(*part, reading));
    gpu.lane = lane.link;
  }
  if (const auto protocol = map.find("protocol")) gpu.protocol = protocol->scalar();
  const auto host = map.find("host");
  const auto slot = host ? host->find("part") : std::nullopt;
  constexpr std::string_view kPcie = "pcie";
  if (slot && slot->scalar().starts_with(kPcie)) {
    const std::string& text = slot->scalar();
    std::from_chars(text.data() + kPcie.size(), text.data() + text.size(), gpu.host_pcie);
  }
  return gpu;
}

const char* name_of_joined(topology::PartFigures::Joined joined) {
  constexpr const char* kNames[] = {"switch", "mesh", "cube"};
  return kNames[static_cast<int>(joined)];
}

Result<topology::PartFigures::Signature> read_signature(const YamlNode& map) {
  constexpr std::int64_t kMost = 1024;
  topology::PartFigures::Signature out;
  MapReader r = sourced(map);
  r.required("gpus", &YamlNode::as_int, out.gpus, 1, kMost);
  r.required("lanes", &YamlNode::as_int, out.lanes, 1, kMost);
  const YamlNode kind = r.required("kind"), joined = r.required("joined"), products = r.required("products");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  BUSBAR_ASSIGN(out.kind, as_enum(kind, topology::LinkKind::kXgmi, &topology::name_of, "kind of link"));
  BUSBAR_ASSIGN(out.joined, as_enum(joined, topology::PartFigures::Joined::kCube, &name_of_joined, "way to join GPUs"));
  for (std::size_t i = 0; i < products.size(); ++i) out.products.push_back(products.item(i).scalar());
  return out;
}

Status read_signatures(Reading& reading, topology::PartFigures& out) {
  BUSBAR_ASSIGN(const YamlDocument file, reading.catalog.load("signatures", "gpus"));
  MapReader r = sourced(file.root());
  r.optional("name");
  const YamlNode list = r.required("signatures");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  return read_items(list, &read_signature, out.signatures);
}

Result<topology::PartFigures::Processor> read_socket(const ProcessorFile& file, Reading& reading) {
  topology::PartFigures::Processor out{file.identity, std::nullopt};
  if (!file.socket) return out;
  MapReader r = sourced(*file.socket);
  constexpr std::int64_t kMostLanes = 64;
  std::uint16_t lanes = 1;
  const YamlNode link = r.required("link");
  r.required("lanes", &YamlNode::as_int, lanes, 1, kMostLanes);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  BUSBAR_ASSIGN(const LinkLane lane, read_lane(link, reading));
  topology::LinkClass c = lane.link;
  c.wire_rate = BytesPerSecond{per_second(c.wire_rate) * lanes};
  c.lanes = lanes;
  c.part = fmt::format("{} x{}", c.part, lanes);
  out.socket = std::move(c);
  return out;
}

/// Efficiency of the cables of a network, and half of the latency of NIC and switch.
Result<topology::LinkClass> read_cable(std::string_view network, Reading& reading) {
  BUSBAR_ASSIGN(const YamlNode map, reading.open("networks", network));
  topology::LinkClass c;
  const auto link = map.find("link"), nic = map.find("nic");
  if (link) {
    BUSBAR_ASSIGN(c.efficiency, link->find("efficiency").value_or(YamlNode()).as_number(kLeastEfficiency, 1));
  }
  if (nic) {
    BUSBAR_ASSIGN(c.latency, nic->find("latency").value_or(YamlNode()).as_duration());
  }
  return c;
}

}  // namespace

Result<topology::PartFigures> read_part_figures(Reading& reading) {
  topology::PartFigures out;
  for (const std::string& name : reading.catalog.names("gpus")) {
    BUSBAR_ASSIGN(const YamlDocument file, reading.catalog.load("gpus", name));
    BUSBAR_ASSIGN(topology::PartFigures::Gpu gpu, read_gpu(name, file.root(), reading));
    out.gpus.push_back(std::move(gpu));
  }
  BUSBAR_RETURN_IF_ERROR(read_signatures(reading, out));
  for (const std::string& name : reading.catalog.names("processors")) {
    BUSBAR_ASSIGN(const YamlDocument file, reading.catalog.load("processors", name));
    BUSBAR_ASSIGN(const ProcessorFile processor, read_processor(file.root()));
    BUSBAR_ASSIGN(topology::PartFigures::Processor socket, read_socket(processor, reading));
    out.processors.push_back(std::move(socket));
  }
  for (int generation = 1; reading.catalog.has("links", fmt::format("pcie{}", generation)); ++generation) {
    BUSBAR_ASSIGN(const YamlDocument file, reading.catalog.load("links", fmt::format("pcie{}", generation)));
    BUSBAR_ASSIGN(const LinkLane lane, read_lane_file(file.root()));
    out.pcie.push_back(lane.link);
  }
  BUSBAR_ASSIGN(out.infiniband, read_cable("infiniband-ndr", reading));
  BUSBAR_ASSIGN(out.ethernet, read_cable("roce-400g", reading));
  return out;
}

}  // namespace busbar::spec
