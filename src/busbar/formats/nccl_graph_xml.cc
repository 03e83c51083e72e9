#include "busbar/formats/nccl_graph_xml.h"

#include <fmt/core.h>

#include <charconv>

#include "busbar/base/text.h"
#include "busbar/base/xml.h"

namespace busbar::formats {
namespace {

/// NCCL reads device numbers as hexadecimal.
Result<std::uint64_t> device_number(const XmlElement& e) {
  BUSBAR_ASSIGN(const std::string text, e.string("dev"));
  std::string_view digits = text;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  std::uint64_t n = 0;
  if (!is_number(digits, n, 16)) return e.error(fmt::format("'{}' is not a hexadecimal number", text), "dev");
  return n;
}

Result<NcclGraphChannel> read_channel(const XmlElement& e, std::vector<UnknownPart>& unknown) {
  constexpr std::uint64_t kMostGpus = 1 << 20;
  NcclGraphChannel c;
  for (const XmlElement& child : e.children()) {
    if (child.tag() == "net") {
      BUSBAR_ASSIGN(const std::uint64_t dev, device_number(child));
      if (c.net_out) return child.error("a channel has one net in and one out");
      if (c.gpus.empty() && c.net_in) return child.error("a channel has one net in and one out");
      (c.gpus.empty() ? c.net_in : c.net_out) = dev;
    } else if (child.tag() == "gpu") {
      if (c.net_out) return child.error("a GPU behind the net that leaves");
      BUSBAR_ASSIGN(const std::uint64_t dev, device_number(child));
      if (dev > kMostGpus) return child.error("is not a number of a GPU", "dev");
      BUSBAR_ASSIGN(const int rank, child.integer_or("rank", -1, -1, kMostGpus));
      c.gpus.push_back({static_cast<int>(dev), rank});
    } else {
      add_unknown(unknown, child.where().line, fmt::format("element {}", child.tag()));
    }
  }
  return c;
}

Result<NcclGraphRecord> read_graph(const XmlElement& e, std::vector<UnknownPart>& unknown) {
  constexpr double kFastest = 1e6;
  NcclGraphRecord g;
  add_unknown_attributes(unknown, e,
                         {"id", "pattern", "crossnic", "nchannels", "speedintra", "speedinter", "latencyinter",
                          "typeintra", "typeinter", "samechannels", "version"});
  const auto number = [&](const char* attribute, double& out) -> Status {
    if (!e.find(attribute)) return {};
    BUSBAR_ASSIGN(out, e.number(attribute, 0, kFastest));
    return {};
  };
  BUSBAR_ASSIGN(g.id, e.integer<int>("id", 0, 16));
  BUSBAR_ASSIGN(g.pattern, e.integer_or("pattern", 0, 0, 16));
  BUSBAR_ASSIGN(g.cross_nic, e.integer_or("crossnic", 0, 0, 2));
  BUSBAR_ASSIGN(g.same_channels, e.integer_or("samechannels", 0, 0, 1));
  BUSBAR_ASSIGN(const int channels, e.integer_or("nchannels", -1, -1, 1 << 16));
  BUSBAR_RETURN_IF_ERROR(number("speedintra", g.speed_intra));
  BUSBAR_RETURN_IF_ERROR(number("speedinter", g.speed_inter));
  BUSBAR_RETURN_IF_ERROR(number("latencyinter", g.latency_inter));
  g.type_intra = e.find("typeintra").value_or("");
  g.type_inter = e.find("typeinter").value_or("");
  for (const XmlElement& child : e.children()) {
    if (child.tag() != "channel") {
      add_unknown(unknown, child.where().line, fmt::format("element {}", child.tag()));
      continue;
    }
    BUSBAR_ASSIGN(NcclGraphChannel c, read_channel(child, unknown));
    g.channels.push_back(std::move(c));
  }
  if (channels >= 0 && static_cast<std::size_t>(channels) != g.channels.size())
    return e.error(fmt::format("says {} channels and holds {}", channels, g.channels.size()), "nchannels");
  return g;
}

/// The shortest decimal that reads back as the same number.
std::string shortest(double x) {
  char text[32];
  const auto [end, code] = std::to_chars(text, text + sizeof text, x);
  return code == std::errc() ? std::string(text, end) : "0";
}

}  // namespace

const char* nccl_graph_name(int id) {
  constexpr const char* kNames[] = {"ring", "tree", "collnet_chain", "nvls", "collnet_direct"};
  return id >= 0 && id < 5 ? kNames[id] : "unknown";
}

Result<NcclGraphFile> read_nccl_graph_xml(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(const XmlElement root, parse_xml(text, name));
  if (root.tag() != "graphs") return root.error("a graph file begins with <graphs>");
  NcclGraphFile out;
  for (const XmlElement& child : root.children()) {
    if (child.tag() != "graph") {
      add_unknown(out.unknown, child.where().line, fmt::format("element {}", child.tag()));
      continue;
    }
    BUSBAR_ASSIGN(NcclGraphRecord g, read_graph(child, out.unknown));
    out.graphs.push_back(std::move(g));
  }
  return out;
}

std::string write_nccl_graph_xml(const std::vector<NcclGraphRecord>& graphs) {
  std::string out = "<graphs version=\"1\">\n";
  for (const NcclGraphRecord& g : graphs) {
    out += fmt::format(
        "  <graph id=\"{}\" pattern=\"{}\" crossnic=\"{}\" nchannels=\"{}\" speedintra=\"{}\" speedinter=\"{}\" "
        "latencyinter=\"{}\" typeintra=\"{}\" typeinter=\"{}\" samechannels=\"{}\"{}>\n",
        g.id, g.pattern, g.cross_nic, g.channels.size(), shortest(g.speed_intra), shortest(g.speed_inter),
        shortest(g.latency_inter), g.type_intra, g.type_inter, g.same_channels, g.channels.empty() ? "/" : "");
    if (g.channels.empty()) continue;
    for (const NcclGraphChannel& c : g.channels) {
      out += "    <channel>\n";
      if (c.net_in) out += fmt::format("      <net dev=\"{:x}\"/>\n", *c.net_in);
      for (const NcclGraphChannel::Gpu& gpu : c.gpus)
        out += gpu.rank < 0 ? fmt::format("      <gpu dev=\"{:x}\"/>\n", gpu.dev)
                            : fmt::format("      <gpu dev=\"{:x}\" rank=\"{}\"/>\n", gpu.dev, gpu.rank);
      if (c.net_out) out += fmt::format("      <net dev=\"{:x}\"/>\n", *c.net_out);
      out += "    </channel>\n";
    }
    out += "  </graph>\n";
  }
  return out + "</graphs>\n";
}

}  // namespace busbar::formats
