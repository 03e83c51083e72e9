#include "busbar/cli/explore_saved.h"

#include <fmt/core.h>

#include <optional>
#include <string_view>

#include "busbar/base/input.h"
#include "busbar/base/yaml.h"
#include "busbar/spec/catalog.h"

namespace busbar::cli {
namespace {

/// The value at "layout.tp"; empty where there is none.
std::string value_at(YamlNode node, std::string_view path) {
  while (true) {
    const std::size_t dot = path.find('.');
    const std::optional<YamlNode> child = node.find(path.substr(0, dot));
    if (!child) return "";
    if (dot == std::string_view::npos) return child->scalar();
    node = *child;
    path.remove_prefix(dot + 1);
  }
}

Result<std::string> catalog_machine(const YamlNode& result) {
  const std::string cluster = value_at(result, "cluster"), node = cluster.substr(0, cluster.find(':'));
  if (spec::Catalog().has("nodes", node)) return node;
  return result.error(
      fmt::format("the machine '{}' is not in the catalogue; open the page of busbar explore and give it "
                  "the machine's file",
                  cluster));
}

Result<std::string> catalog_model(const YamlNode& result) {
  const spec::Catalog catalog;
  const std::string title = value_at(result, "model");
  for (const std::string& name : catalog.names("models")) {
    const Result<YamlDocument> model = catalog.load("models", name);
    if (model.ok() && value_at(model->root(), "name") == title) return name;
  }
  return result.error(
      fmt::format("the model '{}' is not in the catalogue; open the page of busbar explore and give it the "
                  "model's file",
                  title));
}

Result<std::string> step_state(const YamlNode& result) {
  BUSBAR_ASSIGN(const std::string node, catalog_machine(result));
  BUSBAR_ASSIGN(const std::string model, catalog_model(result));
  std::string out = fmt::format("tab=step&node={}&gpus={}&model={}", node, value_at(result, "gpus"), model);
  for (const char* key : {"tp", "pp", "vpp", "cp", "ep", "micro_batch", "global_batch", "seq", "zero", "recompute",
                          "schedule", "precision"}) {
    const std::string value = value_at(result, std::string("layout.") + key);
    if (!value.empty() && value != "1f1b") out += fmt::format("&{}={}", key, value);
  }
  const bool states = value_at(result, "layout.offload.optimizer") == "true",
             tensors = value_at(result, "layout.offload.activations") == "true";
  return out + (states && tensors ? "&offload=both"
                : states          ? "&offload=optimizer"
                : tensors         ? "&offload=activations"
                                  : "");
}

Result<std::string> collective_state(const YamlNode& result) {
  BUSBAR_ASSIGN(const std::string node, catalog_machine(result));
  const std::optional<YamlNode> rows = result.find("results");
  const std::string size = rows && rows->size() > 0 ? value_at(rows->item(rows->size() - 1), "size_bytes") : "67108864";
  return fmt::format("tab=collective&node={}&gpus={}&op={}&size={}", node, value_at(result, "gpus"),
                     value_at(result, "collective"), size);
}

}  // namespace

Result<std::string> saved_state(const std::string& path) {
  BUSBAR_ASSIGN(const std::string page, read_text(path));
  constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"result\">", kEnd = "</script>";
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = begin == std::string::npos ? begin : page.find(kEnd, begin);
  if (end == std::string::npos) return invalid("carries no result; write the page again with --html", {path, 0, 0, ""});
  BUSBAR_ASSIGN(const YamlDocument data,
                YamlDocument::parse(page.substr(begin + kBegin.size(), end - begin - kBegin.size()), path));
  const YamlNode result = data.root();
  const std::string schema = value_at(result, "schema");
  if (schema.starts_with("busbar.train/")) return step_state(result);
  if (schema.starts_with("busbar.collective/")) return collective_state(result);
  return invalid(fmt::format("is a page of '{}'; explore opens those of train and collective", schema),
                 {path, 0, 0, ""});
}

}  // namespace busbar::cli
