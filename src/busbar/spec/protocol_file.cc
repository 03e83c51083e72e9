#include "busbar/spec/protocol_file.h"

namespace busbar::spec {
namespace {

/// A share or an efficiency.
void read_share(MapReader& r, const char* key, double& out) { r.optional(key, &YamlNode::as_number, out, 1e-3, 1); }

void read_network_keys(MapReader& r, program::ProtocolModel& p) {
  r.optional("step_network", &YamlNode::as_duration, p.step_network);
  r.optional("ll128_network", &YamlNode::as_duration, p.ll128.step_network);
  r.optional("ll_network", &YamlNode::as_duration, p.ll.step_network);
  read_share(r, "share_network", p.share_network);
  r.optional("slot_network", &YamlNode::as_duration, p.messages.slot);
  r.optional("copied_above", &YamlNode::as_size, p.messages.steps[0].above);
  r.optional("copy_network", &YamlNode::as_duration, p.messages.steps[0].time);
  r.optional("fetched_above", &YamlNode::as_size, p.messages.steps[1].above);
  r.optional("fetch_network", &YamlNode::as_duration, p.messages.steps[1].time);
}

/// Kernels on registered buffers and copy engines. Their launches in a file are whole, as NCCL's tables have them.
Status read_registered(MapReader& r, const YamlNode& map, program::ProtocolModel& p) {
  const struct {
    const char *launch, *per_rank, *efficiency, *share_switch;
    program::ProtocolCosts& costs;
  } kinds[] = {{"symmetric_launch", nullptr, "symmetric_efficiency", "symmetric_share_switch", p.symmetric},
               {"symmetric_ll_launch", nullptr, "symmetric_ll_efficiency", nullptr, p.symmetric_ll},
               {"copy_launch", "copy_launch_per_rank", nullptr, nullptr, p.copy}};
  for (const auto& k : kinds) {
    if (!map.find(k.launch)) continue;
    Duration whole;
    r.optional(k.launch, &YamlNode::as_duration, whole);
    k.costs.available = true;
    k.costs.launch_more = whole - p.launch;
    if (k.per_rank != nullptr) r.optional(k.per_rank, &YamlNode::as_duration, k.costs.launch_per_rank);
    if (k.efficiency != nullptr) read_share(r, k.efficiency, k.costs.efficiency);
    if (k.share_switch != nullptr) read_share(r, k.share_switch, k.costs.share_switch);
  }
  return {};
}

Status read_keys(const YamlNode& map, program::ProtocolModel& p, bool outermost, Reading& reading) {
  MapReader r = sourced(map);
  if (outermost) {
    r.optional("name");
    r.optional("fitted");
  }
  r.optional("fit");
  r.optional("launch", &YamlNode::as_duration, p.launch);
  r.optional("step_scale_up", &YamlNode::as_duration, p.step_scale_up);
  r.optional("step_server", &YamlNode::as_duration, p.step_server);
  r.optional("step_switch", &YamlNode::as_duration, p.step_switch);
  r.optional("per_message", &YamlNode::as_duration, p.per_message);
  r.optional("ll128_scale_up", &YamlNode::as_duration, p.ll128.step_scale_up);
  r.optional("ll128_server", &YamlNode::as_duration, p.ll128.step_server);
  r.optional("ll_scale_up", &YamlNode::as_duration, p.ll.step_scale_up);
  r.optional("ll_server", &YamlNode::as_duration, p.ll.step_server);
  read_network_keys(r, p);
  read_share(r, "share_scale_up", p.share_scale_up);
  read_share(r, "share_server", p.share_server);
  read_share(r, "share_switch", p.share_switch);
  read_share(r, "staged_both_ways", p.staged_both_ways);
  r.optional("staged_copy", &YamlNode::as_duration, p.staged_copy);
  for (const auto& [key, costs] : {std::pair("ll128_efficiency", &p.ll128), std::pair("ll_efficiency", &p.ll)})
    if (map.find(key)) {
      read_share(r, key, costs->efficiency);
      costs->available = true;
    }
  BUSBAR_RETURN_IF_ERROR(read_registered(r, map, p));
  r.optional("chunk", &YamlNode::as_size, p.chunk);
  r.optional("channel_rate", &YamlNode::as_rate, p.channel_rate);
  constexpr std::int64_t kMostChannels = 1024;
  r.optional("max_channels", &YamlNode::as_int, p.max_channels, 1, kMostChannels);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  reading.note("protocol overheads", map);
  return {};
}

}  // namespace

Result<program::ProtocolModel> read_protocol(const YamlNode& map, Reading& reading, program::ProtocolModel p) {
  BUSBAR_RETURN_IF_ERROR(read_keys(map, p, true, reading));
  const auto fitted = map.find("fitted");
  if (fitted) BUSBAR_RETURN_IF_ERROR(read_keys(*fitted, p, false, reading));
  if (!map.find("step_switch") && (!fitted || !fitted->find("step_switch"))) p.step_switch = p.step_scale_up;
  return p;
}

Result<Transport> read_transport(const YamlNode& map, Reading& reading) {
  Transport out;
  MapReader r = sourced(map);
  r.optional("name");
  const auto fitted = r.optional("fitted"), merges = r.optional("merges_nics");
  read_network_keys(r, out.costs);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  reading.note("network plugin", map);
  if (merges) {
    BUSBAR_ASSIGN(out.merges_nics,
                  as_enum(*merges, topology::NicMerging::kByGpu, &topology::name_of, "way to merge NICs"));
  }
  if (!fitted) return out;
  reading.note("transport overheads", *fitted);
  MapReader f = sourced(*fitted);
  f.optional("fit");
  read_network_keys(f, out.costs);
  BUSBAR_RETURN_IF_ERROR(f.finish());
  return out;
}

}  // namespace busbar::spec
