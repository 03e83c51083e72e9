#include "busbar/spec/packet_lines.h"

#include <fmt/core.h>

#include <filesystem>

#include "busbar/spec/model_file.h"

namespace busbar::spec {
namespace {

constexpr const char* kSettings = "settings";

/// Keys of a profile or file that are no settings.
bool is_description(const std::string& key) {
  return key == "name" || key == "source" || key == "confidence" || key == "note";
}

Status add_lines(const YamlNode& map, const std::string& prefix, std::vector<PacketLine>& out) {
  if (map.kind() != YamlNode::Kind::kMap)
    return map.error("expected a map of settings such as {mtu: 9000B}, the name of a profile, or none");
  for (std::size_t i = 0; i < map.size(); ++i) {
    const YamlNode value = map.item(i);
    const std::string key = map.key(i);
    if (prefix.empty() && is_description(key)) continue;
    if (prefix.empty() && key == kSettings) {
      BUSBAR_RETURN_IF_ERROR(add_lines(value, "", out));
    } else if (value.kind() == YamlNode::Kind::kMap) {
      BUSBAR_RETURN_IF_ERROR(add_lines(value, prefix + key + ".", out));
    } else {
      BUSBAR_ASSIGN(std::string text, value.as_string());
      Where where = value.where();
      if (!where.file.empty()) where.path.clear();  // messages begin with the key
      out.push_back({prefix + key, std::move(text), std::move(where)});
    }
  }
  return {};
}

}  // namespace

Result<std::vector<PacketLine>> read_packet_lines(const YamlNode& node, const Catalog& catalog, std::string& read) {
  std::vector<PacketLine> out;
  if (node.kind() != YamlNode::Kind::kScalar) {
    BUSBAR_RETURN_IF_ERROR(add_lines(node, "", out));
    return out;
  }
  if (node.scalar() == "none") return out;
  const std::string directory = std::filesystem::path(node.where().file).parent_path().string();
  Result<YamlDocument> document = find_document("packets", node.scalar(), directory, catalog);
  if (!document.ok() && document.error().where.file.empty()) document.error().where = node.where();
  if (!document.ok()) return document.error();
  read += document->text();
  const auto settings = document->root().find(kSettings);
  if (!settings) return document->root().error("a profile of packets has its settings under 'settings:'");
  BUSBAR_RETURN_IF_ERROR(add_lines(document->root(), "", out));
  return out;
}

Status refuse_packet_lines(const std::vector<PacketLine>& lines) {
  if (lines.empty()) return {};
  return Error{ErrorCode::kUnsupported,
               fmt::format("packet.{} has an effect only with --engine packet; leave out all such settings by "
                           "--set packet=none",
                           lines.front().key),
               lines.front().where};
}

}  // namespace busbar::spec
