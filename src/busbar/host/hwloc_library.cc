#include "busbar/host/hwloc_library.h"

#include <bit>
#include <cstdint>
#include <optional>

#include "busbar/base/loaded_library.h"
#include "busbar/base/text.h"
#include "busbar/base/xml.h"

namespace busbar::host {
namespace {

// Names, types and values: hwloc 2.9, hwloc.h and hwloc/export.h.
using HwlocTopology = struct HwlocTopologyTag*;
constexpr int kKeepAll = 0;  // HWLOC_TYPE_FILTER_KEEP_ALL

/// The only node of a set such as "0x00000001,0x00000000"; empty if there are several, or none.
std::optional<int> only_node(std::string_view set) {
  std::optional<int> out;
  int first = 0;
  const auto words = split_at(set, ',');
  for (auto word = words.rbegin(); word != words.rend(); ++word, first += 32) {
    std::string_view digits = *word;
    if (digits.starts_with("0x")) digits.remove_prefix(2);
    std::uint32_t bits = 0;
    if (!digits.empty() && !is_number(digits, bits, 16)) return std::nullopt;
    if (bits == 0) continue;
    if (out || !std::has_single_bit(bits)) return std::nullopt;
    out = first + std::countr_zero(bits);
  }
  return out;
}

/// Devices have no set of their own: that of the nearest object around them counts.
void walk(const XmlElement& e, std::optional<int> node, std::map<std::string, int>& out) {
  if (const auto set = e.find("nodeset")) node = only_node(*set);
  if (const auto id = e.find("pci_busid"); id && node && e.find("type") == "PCIDev") out[std::string(*id)] = *node;
  for (const XmlElement& child : e.children())
    if (child.tag() == "object") walk(child, node, out);
}

}  // namespace

std::string hwloc_xml_of_host(const char* library) {
  const LoadedLibrary hwloc(library);
  HwlocTopology topology = nullptr;
  if (!hwloc.call("hwloc_topology_init", &topology)) return {};
  std::string out;
  char* text = nullptr;
  int length = 0;
  if (hwloc.call("hwloc_topology_set_io_types_filter", topology, kKeepAll) &&
      hwloc.call("hwloc_topology_load", topology) &&
      hwloc.call("hwloc_topology_export_xmlbuffer", topology, &text, &length, 0UL) && length > 0) {
    out.assign(text, static_cast<std::size_t>(length));
    while (!out.empty() && out.back() == '\0') out.pop_back();
    if (const auto release = hwloc.find<void(HwlocTopology, char*)>("hwloc_free_xmlbuffer")) release(topology, text);
  }
  if (const auto destroy = hwloc.find<void(HwlocTopology)>("hwloc_topology_destroy")) destroy(topology);
  return out;
}

std::map<std::string, int> numa_nodes_of_pci(std::string_view xml) {
  std::map<std::string, int> out;
  if (const Result<XmlElement> root = parse_xml(xml, "hwloc"); root.ok())
    for (const XmlElement& child : root->children())
      if (child.tag() == "object") walk(child, std::nullopt, out);
  return out;
}

}  // namespace busbar::host
