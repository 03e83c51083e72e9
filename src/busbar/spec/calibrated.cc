#include "busbar/spec/calibrated.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/text.h"
#include "busbar/spec/cluster_document.h"
#include "busbar/topology/seen_damage.h"

namespace busbar::spec {
namespace {

Duration times(Duration d, double factor) {
  return Duration::ps(std::llround(static_cast<double>(d.in_ps()) * factor));
}

BytesPerSecond times(BytesPerSecond rate, double factor) {
  return BytesPerSecond{static_cast<std::uint64_t>(std::llround(static_cast<double>(per_second(rate)) * factor))};
}

/// Adds double quotes unless the text is a plain word or number.
std::string quoted(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '/';
  });
  if (plain) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else
      out += c;
  }
  return out + '"';
}

/// In flow style: the text after "key: ".
std::string flow_text(const YamlNode& node) {
  std::string out;
  switch (node.kind()) {
    case YamlNode::Kind::kNull:
      return "~";
    case YamlNode::Kind::kScalar:
      return quoted(node.scalar());
    case YamlNode::Kind::kSequence:
      for (std::size_t i = 0; i < node.size(); ++i) out += (i > 0 ? ", " : "") + flow_text(node.item(i));
      return "[" + out + "]";
    case YamlNode::Kind::kMap:
      for (std::size_t i = 0; i < node.size(); ++i)
        out += (i > 0 ? ", " : "") + quoted(node.key(i)) + ": " + flow_text(node.item(i));
      return "{" + out + "}";
  }
  return out;
}

/// Maps and lists of maps in block style, everything else in flow style.
void add_block(const std::string& key, const YamlNode& node, const std::string& indent, std::string& out) {
  const bool maps =
      node.kind() == YamlNode::Kind::kSequence && node.size() > 0 && node.item(0).kind() == YamlNode::Kind::kMap;
  if (node.kind() == YamlNode::Kind::kMap && node.size() > 0) {
    out += indent + quoted(key) + ":\n";
    for (std::size_t i = 0; i < node.size(); ++i) add_block(node.key(i), node.item(i), indent + "  ", out);
  } else if (maps) {
    out += indent + quoted(key) + ":\n";
    for (std::size_t i = 0; i < node.size(); ++i) out += indent + "  - " + flow_text(node.item(i)) + "\n";
  } else {
    out += indent + quoted(key) + ": " + flow_text(node) + "\n";
  }
}

void add_faults(const std::optional<YamlNode>& stated, const Overrides& overrides, std::string& out) {
  std::string list;
  for (std::size_t i = 0; stated && i < stated->size(); ++i) list += "  - " + flow_text(stated->item(i)) + "\n";
  for (const std::string& text : overrides.degrade) {
    const std::size_t equals = text.rfind('=');
    std::string factor = text.substr(equals + 1);
    const bool seen = factor.ends_with(topology::kSeen);
    if (seen) factor.resize(factor.size() - topology::kSeen.size());
    list += fmt::format("  - {{degrade: {}, factor: {}{}}}\n", quoted(text.substr(0, equals)), factor,
                        seen ? ", seen: true" : "");
  }
  for (const std::string& text : overrides.fail) list += fmt::format("  - {{fail: {}}}\n", quoted(text));
  if (!list.empty()) out += "faults:\n" + list;
}

}  // namespace

Result<CalibratedFactors> read_calibrated(const YamlNode& map) {
  constexpr double kLeast = 0.01, kMost = 100;
  CalibratedFactors out;
  MapReader r = sourced(map);
  r.required("latency_factor", &YamlNode::as_number, out.latency, kLeast, kMost);
  r.required("rate_factor", &YamlNode::as_number, out.rate, kLeast, kMost);
  r.optional("launch_more", &YamlNode::as_duration, out.launch_more);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  return out;
}

Result<double> read_kernel_time(const YamlNode& map) {
  constexpr double kLeast = 0.2, kMost = 5;
  double time = 1;
  MapReader r = sourced(map);
  r.required("time", &YamlNode::as_number, time, kLeast, kMost);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  return time;
}

std::string with_kernel_time(std::string_view text, double time, const std::string& source) {
  std::string out;
  bool old = false;  // in the key's lines
  for (const std::string_view line : split_at(text, '\n')) {
    const bool inner = line.starts_with(' ') || line.empty();
    old = line.starts_with("kernels:") || (old && inner);
    if (!old && !line.empty()) out.append(line) += '\n';
  }
  return out + fmt::format("kernels: {{time: {:.4f}, source: {}}}\n", time, quoted(source));
}

Result<std::string> on_one_line(const std::string& text) {
  BUSBAR_ASSIGN(const YamlDocument document, YamlDocument::parse(text, "the fitted machine"));
  return flow_text(document.root());
}

void calibrate_parts(const CalibratedFactors& f, topology::NodeTemplate& node, topology::FabricSpec& fabric) {
  for (topology::TemplateLink& l : node.links) l.link_class.latency = times(l.link_class.latency, f.latency);
  for (topology::TemplateDevice& d : node.devices) {
    topology::DeviceClass& c = d.device_class;
    c.transit_rate = times(c.transit_rate, f.rate);
    c.reduce_rate = times(c.reduce_rate, f.rate);
    c.memory_rate = times(c.memory_rate, std::min(1.0, f.rate));
  }
  fabric.nic_link.latency = times(fabric.nic_link.latency, f.latency);
  for (topology::TierSpec& tier : fabric.levels) {
    tier.up.latency = times(tier.up.latency, f.latency);
    tier.switches.reduce_rate = times(tier.switches.reduce_rate, f.rate);
  }
}

void calibrate_protocol(const CalibratedFactors& f, program::ProtocolModel& p) {
  for (Duration* d :
       {&p.launch, &p.step_scale_up, &p.step_server, &p.step_network, &p.step_switch, &p.ll128.step_scale_up,
        &p.ll128.step_server, &p.ll128.step_network, &p.ll.step_scale_up, &p.ll.step_server, &p.ll.step_network})
    *d = times(*d, f.latency);
  p.launch = p.launch + f.launch_more;
  // A link to a switch that reduces has the first share in addition to its own.
  for (double* share : {&p.share_scale_up, &p.share_server, &p.share_network}) *share *= f.rate;
  p.channel_rate = times(p.channel_rate, f.rate);
}

Result<std::string> cluster_text(std::string_view name, const Overrides& overrides,
                                 std::vector<MeasuredTable>& measured) {
  const Catalog catalog(overrides.catalog);
  Reading reading(catalog);
  BUSBAR_ASSIGN(const YamlDocument document, cluster_document(name, overrides, reading));
  const YamlNode root = document.root();
  std::string out;
  for (std::size_t i = 0; i < root.size(); ++i) {
    const std::string key = root.key(i);
    const bool said_by_flag =
        (key == "gpu" && !overrides.gpu.empty()) || (key == "gpu_memory_rate" && !overrides.gpu_memory_rate.empty());
    if (key == "measured") {
      BUSBAR_ASSIGN(measured, read_measured_tables(root.item(i)));
    } else if (key != "faults" && !said_by_flag) {
      add_block(key, root.item(i), "", out);
    }
  }
  if (!overrides.gpu.empty()) out += "gpu: " + quoted(overrides.gpu) + "\n";
  if (!overrides.gpu_memory_rate.empty()) out += "gpu_memory_rate: " + quoted(overrides.gpu_memory_rate) + "\n";
  add_faults(root.find("faults"), overrides, out);
  return out;
}

}  // namespace busbar::spec
