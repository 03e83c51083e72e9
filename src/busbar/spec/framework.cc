#include "busbar/spec/framework.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

#include "busbar/base/text.h"
#include "busbar/spec/layout_file.h"

namespace busbar::spec {
namespace {

constexpr const char* kFolder = "frameworks";
constexpr const char* kKeys[] = {"name",     "aliases", "base",    "releases", "kernel_time",
                                 "defaults", "terms",   "recipes", "runs",     "note"};

Result<std::vector<std::string>> words_in(const YamlNode& file, const char* key) {
  std::vector<std::string> out;
  const auto list = file.find(key);
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    BUSBAR_ASSIGN(std::string word, list->item(i).as_string());
    out.push_back(std::move(word));
  }
  return out;
}

/// "24.04.01" as {24, 4, 1}; empty for another text.
std::vector<int> numbers_of(const std::string& release) {
  std::vector<int> out;
  for (const std::string_view part : split_at(release, '.')) {
    int n = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), n);
    if (error != std::errc() || end != part.data() + part.size()) return {};
    out.push_back(n);
  }
  return out;
}

/// The place of a release among `releases`, which are in order; one that is not listed comes after all with smaller
/// numbers. Below 0: it is no release.
double place_of(const std::string& release, const std::vector<std::string>& releases) {
  const auto listed = std::find(releases.begin(), releases.end(), release);
  if (listed != releases.end()) return static_cast<double>(listed - releases.begin());
  const std::vector<int> numbers = numbers_of(release);
  if (numbers.empty()) return -1;
  const auto smaller = std::count_if(releases.begin(), releases.end(),
                                     [&](const std::string& known) { return numbers_of(known) < numbers; });
  return static_cast<double>(smaller) - 0.5;
}

/// Years from the start of 2000 to a release named by year and month, as "26.04.01"; nothing for another text.
std::optional<double> years_of_release(const std::string& release) {
  int year = 0, month = 0;
  if (std::sscanf(release.c_str(), "%d.%d", &year, &month) != 2 || month < 1 || month > 12) return {};
  return year + (month - 1) / 12.0;
}

/// "DeepSeek-V3" and "deepseek_v3" as "deepseekv3".
std::string plain(const std::string& name) {
  std::string out;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// A condition as written: a value, or a number after > or <.
struct Bound {
  char sign = '=';
  std::string value;
};
Bound bound_of(const std::string& text) {
  if (!text.empty() && (text.front() == '>' || text.front() == '<')) return {text.front(), text.substr(1)};
  return {'=', text};
}

bool holds(const Bound& bound, double value, double with) {
  return bound.sign == '>' ? value > with : bound.sign == '<' ? value < with : value == with;
}

/// What the conditions of an entry are about.
struct Facts {
  const workload::ModelSpec& model;
  const workload::LayoutSpec& layout;
  const std::string& release;
  const std::vector<std::string>& releases;
  const GpuName& gpu;
};

/// The number that `key` is about; nothing for other keys.
std::optional<double> number_of(const std::string& key, const Facts& f) {
  const workload::LayoutSpec& l = f.layout;
  const std::pair<const char*, std::uint32_t> numbers[] = {{"tp", l.tp},
                                                           {"pp", l.pp},
                                                           {"vpp", l.vpp},
                                                           {"dp", l.dp},
                                                           {"cp", l.cp},
                                                           {"ep", l.ep},
                                                           {"zero", l.sharding.zero},
                                                           {"experts", f.model.moe.experts}};
  for (const auto& [name, value] : numbers)
    if (key == name) return value;
  return {};
}

Result<bool> number_holds(const YamlNode& node, const Bound& bound, double value) {
  double with = 0;
  if (!is_number(bound.value, with)) return node.error("is not a number, >NUMBER or <NUMBER");
  return holds(bound, value, with);
}

/// One name or a list: whether one of them begins `name`.
bool begins_one(const YamlNode& node, const std::string& name) {
  if (node.kind() == YamlNode::Kind::kScalar) return plain(name).starts_with(plain(node.scalar()));
  for (std::size_t i = 0; i < node.size(); ++i)
    if (begins_one(node.item(i), name)) return true;
  return false;
}

Result<bool> condition_holds(const std::string& key, const YamlNode& node, const Facts& f) {
  const Bound bound = bound_of(node.scalar());
  if (const auto number = number_of(key, f)) return number_holds(node, bound, *number);
  if (key == "release") {
    if (f.release.empty()) return bound.sign != '<';
    return holds(bound, place_of(f.release, f.releases), place_of(bound.value, f.releases));
  }
  if (key == "from") return place_of(f.release, f.releases) >= place_of(node.scalar(), f.releases);
  if (key == "precision") return node.scalar() == workload::name_of(f.layout.precision);
  if (key == "recompute") return node.scalar() == workload::name_of(f.layout.recomputation.kind);
  if (key == "sequence_parallel") return (node.scalar() == "true") == f.layout.sequence_parallel;
  if (key == "model") return begins_one(node, f.model.name);
  if (key != "gpu") return node.error("there is no condition of this name");
  BUSBAR_ASSIGN(const std::string gpu, f.gpu());
  return begins_one(node, gpu);
}

/// Whether all conditions in the map `when` hold; that on the GPU, which may take a machine to know, comes last.
Result<bool> all_hold(const YamlNode& when, const Facts& f) {
  for (const bool on_gpu : {false, true})
    for (std::size_t i = 0; i < when.size(); ++i) {
      if ((when.key(i) == "gpu") != on_gpu) continue;
      BUSBAR_ASSIGN(const bool one, condition_holds(when.key(i), when.item(i), f));
      if (!one) return false;
    }
  return true;
}

/// An entry of a list in a file: `when`, `layout` and `source`.
struct Entry {
  std::optional<YamlNode> when;
  YamlNode layout;
};
Result<Entry> read_entry(const YamlNode& node) {
  Entry out;
  MapReader r(node);
  out.when = r.optional("when");
  out.layout = r.required("layout");
  r.required("source");
  r.optional("confidence");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  return out;
}

/// `layout` with the entries under `list` whose conditions hold: all of them, or only the first.
Result<workload::LayoutSpec> with_entries(const YamlNode& file, const char* list, bool only_first, const Facts& facts,
                                          workload::LayoutSpec layout) {
  const auto entries = file.find(list);
  for (std::size_t i = 0; entries && i < entries->size(); ++i) {
    BUSBAR_ASSIGN(const Entry entry, read_entry(entries->item(i)));
    if (entry.when) {
      BUSBAR_ASSIGN(const bool fits, all_hold(*entry.when, facts));
      if (!fits) continue;
    }
    const auto places = layout.places;  // of the user's keys
    BUSBAR_ASSIGN(layout, read_layout(entry.layout, std::move(layout)));
    layout.places = places;
    if (only_first) break;
  }
  return layout;
}

Status check_keys(const YamlNode& file) {
  MapReader r(file);
  for (const char* key : kKeys) r.optional(key);
  return r.finish();
}

/// The file with this name or alias; nothing if there is none.
Result<std::optional<YamlDocument>> find_file(const std::string& name, const Catalog& catalog) {
  if (catalog.has(kFolder, name)) {
    BUSBAR_ASSIGN(YamlDocument file, catalog.load(kFolder, name));
    return std::optional<YamlDocument>(std::move(file));
  }
  for (const std::string& other : catalog.names(kFolder)) {
    BUSBAR_ASSIGN(YamlDocument file, catalog.load(kFolder, other));
    BUSBAR_ASSIGN(const std::vector<std::string> aliases, words_in(file.root(), "aliases"));
    if (std::find(aliases.begin(), aliases.end(), name) != aliases.end())
      return std::optional<YamlDocument>(std::move(file));
  }
  return std::optional<YamlDocument>();
}

Error unknown_framework(const std::string& name, const Where& where, const Catalog& catalog) {
  return invalid(
      fmt::format("'{}' is not a framework that is known; write one of {}", name, comma_list(framework_names(catalog))),
      where);
}

const GpuName kAnyGpu = [] { return Result<std::string>(std::string()); };

class ChangedKeys {
 public:
  template <typename T>
  void add(const char* key, const T& before, const T& after) {
    if (before == after) return;
    append_word(text_, fmt::format("{} {}", key, word(after)));
  }
  const std::string& text() const { return text_; }

 private:
  static std::string word(bool b) { return b ? "true" : "false"; }
  static std::string word(std::uint32_t n) { return std::to_string(n); }
  static std::string word(std::uint64_t n) { return std::to_string(n); }
  static std::string word(const std::string& s) { return s; }
  static std::string word(double x) { return fmt::format("{:.4g}", x); }
  static std::string word(Duration d) { return fmt::format("{:.3g} us", 1e6 * d.in_s()); }
  template <typename E>
  static std::string word(E e) {
    return name_of(e);
  }
  std::string text_;
};

}  // namespace

std::vector<std::string> framework_names(const Catalog& catalog) { return catalog.names(kFolder); }

Result<Framework> Framework::open(const std::string& text, const Where& where, const Catalog& catalog) {
  const std::size_t colon = text.find(':');
  const std::string asked = text.substr(0, colon);
  BUSBAR_ASSIGN(std::optional<YamlDocument> file, find_file(asked, catalog));
  if (!file) return unknown_framework(asked, where, catalog);
  Framework out;
  MapReader r(file->root());
  std::string base;
  r.required("name", &YamlNode::as_string, out.name_);
  r.optional("base", &YamlNode::as_string, base);
  if (!r.ok()) return r.finish().error();
  if (const auto releases = file->root().find("releases")) {
    BUSBAR_ASSIGN(out.releases_, words_in(*releases, "names"));
  }
  if (!base.empty()) {
    BUSBAR_ASSIGN(YamlDocument below, catalog.load(kFolder, base));
    out.files_.push_back(std::move(below));
  }
  out.files_.push_back(std::move(*file));
  for (const YamlDocument& f : out.files_) BUSBAR_RETURN_IF_ERROR(check_keys(f.root()));
  if (!out.releases_.empty()) out.release_ = out.releases_.back();
  if (colon == std::string::npos) return out;
  out.release_ = text.substr(colon + 1);
  if (out.releases_.empty()) return invalid(fmt::format("no release of {} is known; write {}", asked, asked), where);
  if (place_of(out.release_, out.releases_) < -0.5 || numbers_of(out.release_).empty())
    return invalid(
        fmt::format("'{}' is not a release of {}; known are {}", out.release_, asked, comma_list(out.releases_)),
        where);
  return out;
}

Result<double> Framework::kernel_time(const std::string& release) const {
  MapReader file(files_.back().root());
  for (const char* key : kKeys) file.optional(key);
  double time = 1, fall_per_year = 0;
  std::string of_release;
  file.inner("kernel_time", [&](MapReader& entry) {
    entry.required("value", &YamlNode::as_number, time, 0.1, 10);
    entry.optional("release", &YamlNode::as_string, of_release);
    entry.optional("fall_per_year", &YamlNode::as_number, fall_per_year, 0, 1);
    entry.required("source");
    entry.optional("confidence");
  });
  BUSBAR_RETURN_IF_ERROR(file.finish());
  const auto own = years_of_release(of_release), now = years_of_release(release);
  return own && now ? time * std::exp(-fall_per_year * (*now - *own)) : time;
}

Result<workload::LayoutSpec> Framework::with_defaults(const workload::ModelSpec& model,
                                                      const workload::LayoutSpec& given) const {
  workload::LayoutSpec out = given;
  BUSBAR_ASSIGN(out.kernel_time, kernel_time(release_));
  const Facts facts{model, given, release_, releases_, kAnyGpu};
  for (const YamlDocument& file : files_) {
    BUSBAR_ASSIGN(out, with_entries(file.root(), "defaults", false, facts, std::move(out)));
  }
  return out;
}

Result<workload::LayoutSpec> Framework::with_recipe(const workload::ModelSpec& model, const workload::LayoutSpec& given,
                                                    const GpuName& gpu, workload::LayoutSpec base) const {
  const Facts facts{model, given, release_, releases_, gpu};
  return with_entries(files_.back().root(), "recipes", true, facts, std::move(base));
}

Result<workload::LayoutSpec> Framework::with_terms(const workload::ModelSpec& model,
                                                   workload::LayoutSpec layout) const {
  const workload::LayoutSpec said = layout;
  const Facts facts{model, said, release_, releases_, kAnyGpu};
  return with_entries(files_.back().root(), "terms", true, facts, std::move(layout));
}

Result<std::optional<FrameworkRuns>> Framework::runs(const workload::ModelSpec& model) const {
  const auto node = files_.back().root().find("runs");
  if (!node) return std::optional<FrameworkRuns>();
  FrameworkRuns out;
  for (std::size_t i = 0; i < node->size(); ++i) {
    const std::string key = node->key(i);
    if (key == "source") continue;
    if (key == "program") {
      BUSBAR_ASSIGN(out.program, node->item(i).as_string());
      continue;
    }
    const bool of_experts = key.ends_with("_experts");
    if (of_experts && model.moe.experts == 0) continue;
    std::string list;
    BUSBAR_ASSIGN(const std::vector<std::string> words, words_in(*node, key.c_str()));
    for (const std::string& word : words) list += (list.empty() ? "" : ",") + word;
    out.lists[of_experts ? key.substr(0, key.find("_experts")) : key] = list;
  }
  return std::optional(std::move(out));
}

namespace {

std::string overlap_text(const workload::ExpertRun& e) {
  return e.computed_overlap ? "auto" : fmt::format("{:g}", e.overlap);
}

}  // namespace

std::string layout_changes(const workload::LayoutSpec& a, const workload::LayoutSpec& b) {
  ChangedKeys c;
  if (b.recomputation.choose && !a.recomputation.choose)
    c.add("recompute", std::string(), std::string("auto"));
  else
    c.add("recompute", a.recomputation.kind, b.recomputation.kind);
  c.add("recompute_every", a.recomputation.every, b.recomputation.every);
  c.add("recompute_layers", a.recomputation.layers, b.recomputation.layers);
  c.add("early_stop", a.recomputation.early_stop, b.recomputation.early_stop);
  c.add("offload.activations", a.offload.activations, b.offload.activations);
  c.add("stage_buffers", a.stage_buffers, b.stage_buffers);
  c.add("attention", a.attention, b.attention);
  c.add("loss", a.loss, b.loss);
  c.add("context", a.context, b.context);
  c.add("gradient_bytes", a.exchange.gradient_bytes, b.exchange.gradient_bytes);
  c.add("reshard", a.sharding.reshard, b.sharding.reshard);
  c.add("accumulate_gradients", a.sharding.accumulate_gradients, b.sharding.accumulate_gradients);
  c.add("shard_copy_bytes", a.sharding.copy_bytes, b.sharding.copy_bytes);
  c.add("whole_tensors", a.sharding.whole_tensors, b.sharding.whole_tensors);
  c.add("bucket_million_parameters", a.exchange.bucket_parameters / 1'000'000,
        b.exchange.bucket_parameters / 1'000'000);
  c.add("overlap.grad_reduce", a.overlap.grad_reduce, b.overlap.grad_reduce);
  c.add("overlap.param_gather", a.overlap.param_gather, b.overlap.param_gather);
  c.add("overlap.p2p", a.overlap.p2p, b.overlap.p2p);
  c.add("overlap.tp", a.overlap.tp, b.overlap.tp);
  c.add("overlap.tp_backward", a.overlap.tp_backward, b.overlap.tp_backward);
  c.add("overlap.ep", overlap_text(a.experts), overlap_text(b.experts));
  c.add("overlap.shared_experts", a.overlap.shared_experts, b.overlap.shared_experts);
  c.add("expert_exchange", a.experts.exchange, b.experts.exchange);
  c.add("expert_kernels", a.experts.kernels, b.experts.kernels);
  c.add("expert_cores", a.experts.cores, b.experts.cores);
  c.add("expert_capacity", a.experts.capacity, b.experts.capacity);
  c.add("expert_masks", a.experts.masks, b.experts.masks);
  c.add("expert_tp", a.expert_tp, b.expert_tp);
  c.add("fused_experts", a.experts.fused, b.experts.fused);
  c.add("expert_launch", a.experts.launch, b.experts.launch);
  c.add("kernel_time", a.kernel_time, b.kernel_time);
  return c.text();
}

}  // namespace busbar::spec
