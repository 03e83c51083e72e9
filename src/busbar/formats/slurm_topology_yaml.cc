#include <fmt/core.h>

#include <optional>

#include "busbar/base/yaml.h"
#include "busbar/formats/internal/slurm_topology.h"

namespace busbar::formats {
namespace {

/// Writes topology.conf, each switch in the line in which topology.yaml has it, so that errors name the right line.
class ConfWriter {
 public:
  Status add(const YamlNode& topology) {
    if (const auto tree = topology.find("tree")) {
      if (const auto switches = tree->find("switches")) BUSBAR_RETURN_IF_ERROR(add_all(*switches, "switch"));
    }
    if (const auto block = topology.find("block")) {
      if (const auto sizes = block->find("block_sizes")) add_sizes(*sizes);
      if (const auto blocks = block->find("blocks")) BUSBAR_RETURN_IF_ERROR(add_all(*blocks, "block"));
    }
    return {};
  }
  std::string take() { return std::move(text_); }

 private:
  void go_to(const YamlNode& node) {
    for (; line_ < node.where().line; ++line_) text_ += '\n';
  }

  Status add_all(const YamlNode& list, const char* kind) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const YamlNode item = list.item(i);
      const auto name = item.find(kind);
      if (!name) return item.error(fmt::format("needs '{}', its name", kind));
      go_to(item);
      text_ += fmt::format("{}={}", kind == std::string_view("block") ? "BlockName" : "SwitchName", name->scalar());
      if (const auto below = item.find("children")) text_ += " Switches=" + below->scalar();
      if (const auto nodes = item.find("nodes")) text_ += " Nodes=" + nodes->scalar();
    }
    return {};
  }

  void add_sizes(const YamlNode& sizes) {
    go_to(sizes);
    for (std::size_t i = 0; i < sizes.size(); ++i) text_ += (i == 0 ? "BlockSizes=" : ",") + sizes.item(i).scalar();
  }

  std::string text_;
  int line_ = 1;
};

}  // namespace

bool looks_like_slurm_yaml(std::string_view head) {
  return head.find("topology:") != head.npos &&
         ((head.find("switches:") != head.npos && head.find("switch:") != head.npos) ||
          (head.find("blocks:") != head.npos && head.find("block:") != head.npos));
}

Result<std::string> slurm_conf_of_yaml(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(const YamlDocument document, YamlDocument::parse(std::string(text), name));
  const YamlNode all = document.root();
  std::optional<YamlNode> chosen;
  for (std::size_t i = 0; i < all.size() && all.kind() == YamlNode::Kind::kSequence; ++i) {
    const YamlNode topology = all.item(i);
    if (!topology.find("tree") && !topology.find("block")) continue;
    const auto is_default = topology.find("cluster_default");
    const bool first_default = is_default && is_default->scalar() == "true";
    if (!chosen || first_default) chosen = topology;
    if (first_default) break;
  }
  if (!chosen) return invalid("no topology in this file has a tree or blocks", {name, 0, 0, ""});
  ConfWriter conf;
  BUSBAR_RETURN_IF_ERROR(conf.add(*chosen));
  return conf.take();
}

}  // namespace busbar::formats
