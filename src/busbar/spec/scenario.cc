#include "busbar/spec/scenario.h"

#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "busbar/spec/cluster_document.h"
#include "busbar/spec/framework.h"
#include "busbar/spec/internal/hugging_face_model.h"
#include "busbar/spec/model_file.h"

namespace busbar::spec {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostGpus = 1 << 24;  // above any machine

/// The --set arguments, sorted by what they concern; paths without their first word.
struct Settings {
  using List = std::vector<std::pair<std::string, std::string>>;
  List model, layout;
  Overrides cluster;
};

Error flag_error(const char* flag, std::string message) {
  Where where;
  where.path = flag;
  return invalid(std::move(message), where);
}

Result<Settings> sort_settings(const Overrides& overrides) {
  Settings out;
  out.cluster.degrade = overrides.degrade;
  out.cluster.fail = overrides.fail;
  out.cluster.nodes = overrides.nodes;
  out.cluster.gpu = overrides.gpu;
  out.cluster.gpu_memory_rate = overrides.gpu_memory_rate;
  out.cluster.catalog = overrides.catalog;
  for (const std::string& set : overrides.set) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos) return flag_error("--set", fmt::format("'{}' has no '='; write PATH=VALUE", set));
    const auto part = [&](std::string_view prefix, Settings::List& list) {
      if (!set.starts_with(prefix) || equals < prefix.size()) return false;
      list.emplace_back(set.substr(prefix.size(), equals - prefix.size()), set.substr(equals + 1));
      return true;
    };
    if (part("model.", out.model) || part("layout.", out.layout)) continue;
    for (const char* flag : {"cluster", "model", "layout"})
      if (set.starts_with(std::string(flag) + "="))
        return flag_error("--set",
                          fmt::format("'{}' changes no key; write --{} {}", set, flag, set.substr(equals + 1)));
    const std::optional<std::string> key = cluster_key(set);
    if (!key)
      return flag_error("--set",
                        fmt::format("'{}' is not a key of a cluster; write model.{} or layout.{}", set, set, set));
    out.cluster.set.push_back(*key);
  }
  return out;
}

Status apply(const Settings::List& settings, const std::string& prefix, YamlDocument& document) {
  for (const auto& [key, value] : settings) BUSBAR_RETURN_IF_ERROR(document.set(prefix + key, value));
  return {};
}

/// The keys of --set that concern packets go to the machine and to the scenario, whose settings count.
Status set_packets(const std::vector<std::string>& sets, YamlDocument& document) {
  for (const std::string& set : sets) {
    if (!set.starts_with("packet.") && !set.starts_with("packet=")) continue;
    const std::size_t equals = set.find('=');
    BUSBAR_RETURN_IF_ERROR(document.set(set.substr(0, equals), std::string_view(set).substr(equals + 1)));
  }
  return {};
}

std::string text_of(const Settings::List& settings) {
  std::string out;
  for (const auto& [key, value] : settings) out += key + "=" + value + "\n";
  return out;
}

/// Such a file ignores keys that it does not know, so that a key of our own would change nothing.
Status check_hugging_face_keys(const Settings::List& settings, const YamlDocument& document) {
  if (!is_hugging_face_config(document.root())) return {};
  for (const auto& [key, value] : settings) {
    if (document.root().find(key.substr(0, key.find('.')))) continue;
    return flag_error("--set", fmt::format("the file has no key '{}'; write a key that it has, as in "
                                           "model.num_hidden_layers=4",
                                           key));
  }
  return {};
}

Status read_named_model(const std::string& name, const std::string& directory, const Settings& settings,
                        const Catalog& catalog, Scenario& out) {
  BUSBAR_ASSIGN(YamlDocument document, find_document("models", name, directory, catalog));
  BUSBAR_RETURN_IF_ERROR(check_hugging_face_keys(settings.model, document));
  BUSBAR_RETURN_IF_ERROR(apply(settings.model, "", document));
  BUSBAR_ASSIGN(out.model, read_model(document.root()));
  out.text += document.text() + text_of(settings.model);
  return {};
}

/// What reads a layout: the flags, the catalogue, and who knows the GPUs.
struct LayoutSources {
  const ScenarioFlags& flags;
  const Catalog& catalog;
  const GpuOfMachine& gpu_of;
};

/// The word under `key` or, before it, of the flag; empty if neither is given.
Result<std::string> word_of(const std::optional<YamlNode>& node, const char* key, const std::string& flag,
                            Where& where) {
  where = {};
  where.path = fmt::format("--{}", key);
  const std::optional<YamlNode> found = node ? node->find(key) : std::nullopt;
  if (!flag.empty() || !found) return flag;
  where = found->where();
  return found->as_string();
}

Result<bool> takes_recipes(const std::optional<YamlNode>& node, const std::string& flag) {
  Where where;
  BUSBAR_ASSIGN(const std::string word, word_of(node, "recipe", flag, where));
  if (word.empty() || word == "auto") return true;
  if (word != "none") return invalid(fmt::format("'{}' is not auto or none", word), where);
  return false;
}

/// A number of GPUs, which is no key of a layout alone.
Status read_gpus(const std::optional<YamlNode>& node, const char* key, std::uint32_t& out) {
  const std::optional<YamlNode> gpus = node ? node->find(key) : std::nullopt;
  if (!gpus) return {};
  BUSBAR_ASSIGN(const std::int64_t n, gpus->as_int(1, kMostGpus));
  out = static_cast<std::uint32_t>(n);
  return {};
}

/// The keys of `node`, if any, and the flags, over the defaults of the framework that one of them names.
Status read_layout_keys(const std::optional<YamlNode>& node, const LayoutSources& from, Scenario& out) {
  const auto read = [&](workload::LayoutSpec base) -> Result<workload::LayoutSpec> {
    if (node) {
      BUSBAR_ASSIGN(base, read_layout(*node, std::move(base)));
    }
    BUSBAR_RETURN_IF_ERROR(apply_flags(from.flags.degrees, base));
    return base;
  };
  BUSBAR_ASSIGN(out.layout, read({}));
  BUSBAR_RETURN_IF_ERROR(read_gpus(node, "gpus", out.gpus));
  BUSBAR_RETURN_IF_ERROR(read_gpus(node, "gpus_per_domain", out.gpus_per_domain));
  if (const auto& flag = from.flags.degrees.gpus_per_domain) {
    if (*flag < 1 || *flag > kMostGpus)
      return flag_error("--gpus-per-domain", fmt::format("{} is not between 1 and {}", *flag, kMostGpus));
    out.gpus_per_domain = static_cast<std::uint32_t>(*flag);
  }
  Where where;
  BUSBAR_ASSIGN(const std::string named, word_of(node, "framework", from.flags.framework, where));
  BUSBAR_ASSIGN(const bool recipes, takes_recipes(node, from.flags.recipe));
  if (named.empty() && !from.flags.recipe.empty())
    return flag_error("--recipe", "recipes are a framework's; add --framework nemo, for example");
  if (named.empty()) return {};
  BUSBAR_ASSIGN(const Framework framework, Framework::open(named, where, from.catalog));
  out.framework = framework.name();
  out.framework_release = framework.release();
  const workload::LayoutSpec given = out.layout;
  BUSBAR_ASSIGN(workload::LayoutSpec base, framework.with_defaults(out.model, given));
  if (recipes) {
    const auto gpu = [&] { return from.gpu_of(out.cluster, out.cluster_overrides); };
    BUSBAR_ASSIGN(base, framework.with_recipe(out.model, given, gpu, std::move(base)));
  }
  BUSBAR_ASSIGN(base, read(std::move(base)));
  BUSBAR_ASSIGN(out.layout, framework.with_terms(out.model, std::move(base)));
  out.framework_sets = layout_changes(given, out.layout);
  return {};
}

Status read_named_layout(const std::string& name, const std::string& directory, const Settings& settings,
                         const LayoutSources& from, Scenario& out) {
  BUSBAR_ASSIGN(YamlDocument document, find_document("layouts", name, directory, from.catalog));
  BUSBAR_RETURN_IF_ERROR(apply(settings.layout, "", document));
  BUSBAR_RETURN_IF_ERROR(read_layout_keys(document.root(), from, out));
  out.text += document.text() + text_of(settings.layout);
  return {};
}

/// A cluster's file name is relative to the scenario file.
std::string cluster_name(const std::string& name, const std::string& directory) {
  if (!looks_like_file(name) || fs::path(name).is_absolute()) return name;
  return (fs::path(directory) / name).lexically_normal().string();
}

Status read_model_part(const std::optional<YamlNode>& node, const std::string& directory, const ScenarioFlags& flags,
                       const Settings& settings, const Catalog& catalog, Scenario& out) {
  if (!flags.model.empty()) {
    const Status read = read_named_model(flags.model, "", settings, catalog, out);
    if (read.ok() || !read.error().where.file.empty() || !read.error().where.path.empty()) return read;
    return flag_error("--model", read.error().message);
  }
  if (!node) return flag_error("--model", "no model is named; give a catalogue name or a file");
  if (node->kind() == YamlNode::Kind::kMap) {
    BUSBAR_ASSIGN(out.model, read_model(*node));
    return {};
  }
  BUSBAR_ASSIGN(const std::string name, node->as_string());
  const Status read = read_named_model(name, directory, settings, catalog, out);
  return read.ok() ? read : at_name(read.error(), node->where());
}

Status read_layout_part(const std::optional<YamlNode>& node, const std::string& directory, const Settings& settings,
                        const LayoutSources& from, Scenario& out) {
  if (!from.flags.layout.empty()) return read_named_layout(from.flags.layout, "", settings, from, out);
  if (!node || node->kind() == YamlNode::Kind::kMap) return read_layout_keys(node, from, out);
  BUSBAR_ASSIGN(const std::string name, node->as_string());
  const Status read = read_named_layout(name, directory, settings, from, out);
  return read.ok() ? read : at_name(read.error(), node->where());
}

bool is_map(const YamlDocument& document, const char* key) {
  const auto node = document.root().find(key);
  return node && node->kind() == YamlNode::Kind::kMap;
}

/// The text of the flags, which the result depends on as on the files.
std::string text_of(const ScenarioFlags& f) {
  std::string out = f.cluster + '\n' + f.model + '\n' + f.layout + '\n' + f.framework + f.recipe;
  const LayoutFlags& d = f.degrees;
  for (const auto& v : {d.tp, d.pp, d.vpp, d.dp, d.cp, d.ep, d.seq, d.micro_batch, d.global_batch, d.zero}) {
    out += v ? std::to_string(*v) + ' ' : "- ";
  }
  if (d.gpus_per_domain) out += fmt::format("{} of each domain ", *d.gpus_per_domain);
  const TrainedFlags& t = d.trained;
  if (t.lora_rank) out += fmt::format("lora {} ", *t.lora_rank);
  for (const auto* word : {&t.lora_targets, &t.lora_base, &t.optimizer, &t.moments, &t.documents})
    if (*word) out += **word + ' ';
  return out + d.precision.value_or("-") + ' ' + d.recompute.value_or("-") + '\n';
}

}  // namespace

Error at_name(Error error, const Where& name) {
  const bool no_place = error.where.line == 0 && (error.code == ErrorCode::kNotFound || error.code == ErrorCode::kIo);
  if (!error.where.prefix().empty() && !(no_place && name.line > 0)) return error;
  error.message = error.text();
  error.where = name;
  return error;
}

Result<Scenario> load_scenario(const std::string& path, const ScenarioFlags& flags, const Overrides& overrides,
                               const Catalog& catalog, const GpuOfMachine& gpu_of) {
  BUSBAR_ASSIGN(const Settings settings, sort_settings(overrides));
  BUSBAR_ASSIGN(YamlDocument document, YamlDocument::load(path));
  const std::string directory = fs::path(path).parent_path().string();
  if (flags.model.empty() && is_map(document, "model")) {
    BUSBAR_RETURN_IF_ERROR(apply(settings.model, "model.", document));
  }
  if (flags.layout.empty() && is_map(document, "layout")) {
    BUSBAR_RETURN_IF_ERROR(apply(settings.layout, "layout.", document));
  }
  if (document.root().find("packet")) BUSBAR_RETURN_IF_ERROR(set_packets(settings.cluster.set, document));
  Scenario out;
  out.cluster_overrides = settings.cluster;
  out.text = document.text() + text_of(settings.model) + text_of(settings.layout) + text_of(flags);
  MapReader reader(document.root());
  if (flags.cluster.empty()) {
    reader.required("cluster", &YamlNode::as_string, out.cluster);
  } else {
    reader.optional("cluster");
  }
  const auto model = reader.optional("model"), layout = reader.optional("layout"), packet = reader.optional("packet");
  BUSBAR_RETURN_IF_ERROR(reader.finish());
  if (flags.cluster.empty()) {
    out.cluster_named_at = document.root().find("cluster")->where();
    out.cluster = cluster_name(out.cluster, directory);
  } else {
    out.cluster = flags.cluster;
  }
  if (packet) {
    BUSBAR_ASSIGN(out.packet, read_packet_lines(*packet, catalog, out.text));
  }
  BUSBAR_RETURN_IF_ERROR(read_model_part(model, directory, flags, settings, catalog, out));
  BUSBAR_RETURN_IF_ERROR(read_layout_part(layout, directory, settings, {flags, catalog, gpu_of}, out));
  return out;
}

Result<std::string> gpu_of_cluster(const std::string& cluster, const Overrides& overrides) {
  BUSBAR_ASSIGN(const Cluster machine, load_cluster(cluster, overrides));
  return machine.gpu_part;
}

Result<Scenario> scenario_from_flags(const ScenarioFlags& flags, const Overrides& overrides, const Catalog& catalog,
                                     const GpuOfMachine& gpu_of) {
  BUSBAR_ASSIGN(const Settings settings, sort_settings(overrides));
  if (flags.cluster.empty()) {
    return flag_error("--cluster", "no machine is named; give a preset (dgx-h100:64) or a file");
  }
  Scenario out;
  out.cluster = flags.cluster;
  out.cluster_overrides = settings.cluster;
  out.text = text_of(flags) + text_of(settings.model) + text_of(settings.layout);
  BUSBAR_RETURN_IF_ERROR(read_model_part(std::nullopt, "", flags, settings, catalog, out));
  BUSBAR_ASSIGN(YamlDocument set, YamlDocument::parse("{}", "--set"));
  if (flags.layout.empty()) BUSBAR_RETURN_IF_ERROR(apply(settings.layout, "", set));
  BUSBAR_RETURN_IF_ERROR(read_layout_part(set.root(), "", settings, {flags, catalog, gpu_of}, out));
  return out;
}

}  // namespace busbar::spec
