#include "busbar/spec/catalog_entry.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "busbar/spec/internal/node_base.h"

namespace busbar::spec {
namespace {

using Kind = YamlNode::Kind;

/// Whether the key's value is a name, a place or an explanation.
bool is_wording(std::string_view key) {
  static constexpr std::array<std::string_view, 31> kKeys{
      "fec_source",     "name",         "part",    "source", "note",  "confidence", "efficiency_source",
      "latency_source", "cable_source", "between", "pairs",  "torus", "numa",       "islands",
      "planes",         "kind",         "shape",   "base",   "link",  "network",    "fabric",
      "parameters",     "protocol",     "gpu",     "full",   "words", "pci_ids",    "twisted",
      "merges_nics",    "brand",        "aliases"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

/// The unit of a number without one.
std::string unit_of_key(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  const std::string_view key = dot == std::string_view::npos ? path : path.substr(dot + 1);
  if (path.find("cable_m") != std::string_view::npos || key == "reach_m") return "m";
  if (key == "efficiency" || key.ends_with("share") || path.starts_with("contention")) return "share";
  if (key.ends_with("tokens")) return "tokens";
  if (key == "oversubscription") return "ratio";
  if (key.ends_with("_percent")) return "%";
  if (key == "per_year") return "events/year";
  if (key == "usd_per_gpu_hour") return "$/GPU/h";
  if (path.find("price_usd") != std::string_view::npos) return "$";
  if (key.ends_with("tflops")) return "TFLOP/s";
  if (key == "gflop") return "GFLOP";
  if (key == "megabytes") return "MB";
  if (key.ends_with("lanes") || key == "channels") return "lanes";
  if (path.find("ports") != std::string_view::npos) return "ports";
  if (key == "links") return "links";
  return "count";
}

/// "3.35TB/s" as 3.35 and "TB/s"; false unless the text is a number with at most one word after it.
bool split(const std::string& text, double& value, std::string& unit) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc()) return false;
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  if (rest.find_first_of(" -,:.") != std::string_view::npos) return false;
  unit = rest;
  return unit.empty() || (unit.front() < '0' || unit.front() > '9');
}

struct Provenance {
  std::string source, confidence;
};

/// The map's own provenance, or that of the map around it.
Provenance inside(const YamlNode& map, Provenance around) {
  if (const auto s = map.find("source"); s && !s->scalar().empty()) {
    around.source = s->scalar();
    around.confidence.clear();  // a doubt about the whole does not apply to a part with its own source
  }
  if (const auto c = map.find("confidence")) around.confidence = c->scalar();
  return around;
}

std::string joined(const std::string& path, const std::string& key) {
  if (key == "value") return path;
  return path.empty() ? key : path + "." + key;
}

void walk(const YamlNode& node, const std::string& path, const Provenance& from, std::vector<Figure>& out) {
  if (node.kind() == Kind::kScalar) {
    Figure f;
    if (!split(node.scalar(), f.value, f.unit)) return;
    f.path = path;
    f.text = node.scalar();
    if (f.unit.empty()) f.unit = unit_of_key(path);
    f.source = from.source;
    f.confidence = from.confidence;
    f.where = node.where();
    out.push_back(std::move(f));
    return;
  }
  const bool map = node.kind() == Kind::kMap;
  const Provenance own = map ? inside(node, from) : from;
  for (std::size_t i = 0; i < node.size(); ++i) {
    if (!map) {
      const auto name = node.item(i).find("name");
      walk(node.item(i), fmt::format("{}[{}]", path, name ? name->scalar() : std::to_string(i)), own, out);
      continue;
    }
    const std::string key = node.key(i);
    const bool list = key == "link" && node.item(i).kind() == Kind::kMap;  // a network's own link, not a name
    if (is_wording(key) && !list) continue;
    Provenance mine = own;
    const auto special = key == "cable_m" ? node.find("cable_source") : node.find(key + "_source");
    if (special) mine.source = special->scalar();
    walk(node.item(i), joined(path, key), mine, out);
  }
}

void note_part(const YamlNode& name, std::string_view folder, const Catalog& catalog, std::vector<std::string>& out) {
  if (name.kind() != Kind::kScalar || !catalog.has(folder, name.scalar())) return;
  std::string entry = fmt::format("{}/{}", folder, name.scalar());
  if (std::find(out.begin(), out.end(), entry) == out.end()) out.push_back(std::move(entry));
}

/// Names of other entries, found by the keys that hold them.
void collect_parts(const YamlNode& node, const Catalog& catalog, std::vector<std::string>& out) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kKeys{{{"link", "links"},
                                                                                       {"part", "gpus"},
                                                                                       {"product", "switches"},
                                                                                       {"parts", "optics"},
                                                                                       {"fabric", "fabrics"},
                                                                                       {"network", "networks"},
                                                                                       {"protocol", "protocols"}}};
  for (std::size_t i = 0; i < node.size(); ++i) {
    const YamlNode item = node.item(i);
    collect_parts(item, catalog, out);
    if (node.kind() != Kind::kMap) continue;
    for (const auto& [key, folder] : kKeys) {
      if (node.key(i) != key) continue;
      if (item.kind() == Kind::kScalar) note_part(item, folder, catalog, out);
      for (std::size_t k = 0; item.kind() == Kind::kSequence && k < item.size(); ++k)
        note_part(item.item(k), folder, catalog, out);
    }
  }
}

/// The parameters of a node, each with its line in catalog/parameters/nodes.yaml.
Result<std::vector<Parameter>> parameters_of(const YamlNode& base, Reading& reading) {
  BUSBAR_ASSIGN(const std::vector<NodeParameter> values, node_parameters(base, reading));
  std::vector<Parameter> out;
  if (values.empty() || !reading.catalog.has("parameters", "nodes")) return out;
  BUSBAR_ASSIGN(const YamlDocument words, reading.catalog.load("parameters", "nodes"));
  for (const NodeParameter& p : values) {
    const auto help = words.root().find(p.name);
    out.push_back({p.name, p.value, help ? help->scalar() : ""});
  }
  return out;
}

}  // namespace

Result<std::string> catalog_title(std::string_view folder, std::string_view name, const Catalog& catalog) {
  BUSBAR_ASSIGN(const YamlDocument document, catalog.load(folder, name));
  const std::string& text = document.text();
  if (text.starts_with("# ")) return text.substr(2, text.find('\n') - 2);
  const auto own = document.root().find("name");
  return own ? own->scalar() : std::string();
}

std::vector<Figure> figures_of(const YamlNode& root) {
  std::vector<Figure> out;
  walk(root, "", {}, out);
  return out;
}

Result<CatalogEntry> catalog_entry(std::string_view folder, std::string_view name, const Catalog& catalog) {
  BUSBAR_ASSIGN(const YamlDocument document, catalog.load(folder, name));
  CatalogEntry out;
  out.folder = folder;
  out.name = name;
  BUSBAR_ASSIGN(out.title, catalog_title(folder, name, catalog));
  YamlNode root = document.root();
  if (folder == "nodes") {
    Reading reading(catalog);
    BUSBAR_ASSIGN(const YamlDocument map, YamlDocument::parse(fmt::format("base: \"{}\"\n", name), "catalogue"));
    BUSBAR_ASSIGN(root, resolve_node(map.root(), reading));
    BUSBAR_ASSIGN(out.parameters, parameters_of(map.root(), reading));
  }
  for (CatalogAlias& a : catalog.aliases(folder))
    if (a.entry == name) out.aliases.push_back(std::move(a.alias));
  out.figures = figures_of(root);
  collect_parts(root, catalog, out.made_of);
  return out;
}

}  // namespace busbar::spec
