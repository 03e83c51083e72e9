#include "busbar/cli/explore_fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

#include "busbar/base/text.h"
#include "busbar/spec/catalog.h"
#include "busbar/step/machine.h"

namespace busbar::cli {
namespace {

/// One control. `flag`: of the command, or empty where the value is part of a word.
struct ExploreField {
  const char *key, *flag, *label, *help, *first;
  const char* tab;          ///< "step", "collective", or empty: both
  bool plan;                ///< also a flag of `plan`, which searches for the others
  const char* folder;       ///< of the catalogue: a list of its names; or empty
  bool list;                ///< otherwise a slider, whose number can also be typed
  std::string_view values;  ///< separated by spaces; of sliders of a layout, until a machine is known
  const char* unit = "";    ///< behind the value of a flag
};

constexpr const char* kOther = "with";
constexpr std::string_view kDegrees = "1 2 4 8 16 32 64";
// clang-format off
constexpr ExploreField kExploreFields[] = {
    {"node", "", "machine", "a server, rack or pod of the catalogue", "dgx-h100", "", false, "nodes", true, ""},
    {"gpus", "", "GPUs", "", "128", "", false, "", false, "8 16 32 64 128 256 512 1024 2048 4096 8192 16384"},
    {"fabric", "--set fabric=", "fabric", "", "", "", true, "fabrics", true, ""},
    {"rate", "--set fabric.link.rate=", "network rate (Gb/s)", "of one port", "", "", true, "", false,
     "25 50 100 200 400 800 1600 3200", "Gb/s"},
    {"latency", "--set fabric.switch.latency=", "switch latency (ns)", "from port to port", "", "", true, "", false,
     "50 100 200 300 500 700 1000 2000 5000", "ns"},
    {"price", "--set price.usd_per_gpu_hour=", "price ($ per GPU-hour)", "rented", "", "step", true, "", false,
     "0.5 1 1.5 2 2.5 3 4 5 6 8 10 15"},
    {"model", "", "model", "", "llama3-70b", "step", false, "models", true, ""},
    {"tp", "--tp", "tensor parallel (TP)", "", "8", "step", false, "", false, kDegrees},
    {"pp", "--pp", "pipeline stages (PP)", "", "2", "step", false, "", false, kDegrees},
    {"vpp", "--vpp", "chunks per stage (VPP)", "", "1", "step", false, "", false, "1 2 3 4 5 6 8 10"},
    {"cp", "--cp", "context parallel (CP)", "", "1", "step", false, "", false, kDegrees},
    {"ep", "--ep", "expert parallel (EP)", "", "1", "step", false, "", false, kDegrees},
    {"micro_batch", "--micro-batch", "micro-batch", "sequences", "1", "step", false, "", false, "1 2 4 8 16"},
    {"global_batch", "--global-batch", "global batch", "sequences", "512", "step", true, "", false,
     "16 32 64 128 256 512 1024 2048 4096 8192 16384"},
    {"seq", "--seq", "sequence length", "tokens", "4096", "step", true, "", false,
     "1024 2048 4096 8192 16384 32768 65536 131072"},
    {"zero", "--zero", "ZeRO", "", "1", "step", false, "", true, "0 1 2 3"},
    {"recompute", "--recompute", "recompute", "", "selective", "step", false, "", true, "none selective full"},
    {"offload", "--offload", "in host memory", "", "none", "step", false, "", true, "none optimizer activations both"},
    {"schedule", "--set layout.schedule=", "schedule", "of pipeline stages", "", "step", false, "", true,
     "gpipe zb-h1 zb-v dualpipe-v"},
    {"precision", "--precision", "precision", "", "bf16", "step", true, "", true, "bf16 fp16 fp8 fp4 int8"},
    {kOther, "", "compare with", "as many GPUs of another machine", "dgx-b200", "step", false, "nodes", true, ""},
    {"op", "", "collective", "", "all_reduce", "collective", false, "", true,
     "all_reduce all_gather reduce_scatter broadcast reduce all_to_all send_recv"},
    {"size", "", "size", "bytes, as nccl-tests count them", "67108864", "collective", false, "", false,
     "1024 4096 16384 65536 262144 1048576 4194304 16777216 67108864 268435456 1073741824 4294967296 17179869184"},
    {"algorithm", "--algorithm", "algorithm", "", "auto", "collective", false, "", true,
     "auto fastest ring tree nvls hierarchical halving_doubling direct"},
};
// clang-format on

bool plain_value(std::string_view value) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  };
  constexpr std::size_t kLongest = 64;
  return value.size() <= kLongest && !value.starts_with('-') && std::all_of(value.begin(), value.end(), plain);
}

Error field_error(const ExploreField& field, std::string message) {
  return invalid(std::move(message), {"", 0, 0, field.label});
}

ExploreFiles::Kind kind_of(const ExploreField& field) {
  return std::string_view(field.folder) == "models" ? ExploreFiles::Kind::kModel : ExploreFiles::Kind::kCluster;
}

Status check(const ExploreField& field, const std::string& value, const ExploreFiles& files) {
  if (!plain_value(value)) return field_error(field, "is no value; write a number, or a name of the catalogue");
  if (*field.folder == '\0' || value.empty() || !files.path_of(kind_of(field), value).empty()) return {};
  const spec::Catalog catalog;
  if (catalog.has(field.folder, value)) return {};
  return field_error(field, fmt::format("the catalogue has no '{}'; {}", value,
                                        suggestion(value, catalog.names(field.folder), "choose one of the list")));
}

/// Values by key. Errors as explore_words.
Result<std::map<std::string_view, std::string>> read_choice(const ExploreChoice& choice, const ExploreFiles& files) {
  std::map<std::string_view, std::string> values;
  for (const auto& [key, value] : choice) {
    const auto* const field = std::find_if(std::begin(kExploreFields), std::end(kExploreFields),
                                           [&k = key](const ExploreField& f) { return k == f.key; });
    if (field == std::end(kExploreFields)) return invalid("the page has no such field", {"", 0, 0, "explore"});
    BUSBAR_RETURN_IF_ERROR(check(*field, value, files));
    if (!values.emplace(field->key, value).second) return field_error(*field, "is given twice");
  }
  if (values["node"].empty()) return invalid("is missing", {"", 0, 0, "node"});
  return values;
}

const ExploreField& field_of_key(std::string_view key) {
  return *std::find_if(std::begin(kExploreFields), std::end(kExploreFields),
                       [&](const ExploreField& f) { return key == f.key; });
}

/// The model's name in the catalogue, or the path of its file.
Result<std::string> model_word(std::map<std::string_view, std::string>& values, const ExploreFiles& files) {
  const std::string& name = values["model"];
  if (name.empty()) return invalid("is missing", {"", 0, 0, "model"});
  const std::string path = files.path_of(ExploreFiles::Kind::kModel, name);
  return path.empty() ? name : path;
}

Status set_number(const ExploreField& f, const std::string& value, std::optional<std::int64_t>& out) {
  std::int64_t n = 0;
  const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), n);
  if (failed != std::errc() || end != value.data() + value.size() || n < 0 || n > INT32_MAX)
    return field_error(f, fmt::format("'{}' is no number", value));
  out = n;
  return {};
}

Status set_degree(const ExploreField& f, const std::string& value, spec::LayoutFlags& flags) {
  using Flags = spec::LayoutFlags;
  constexpr std::pair<std::string_view, std::optional<std::int64_t> Flags::*> kNumbers[] = {
      {"tp", &Flags::tp},
      {"pp", &Flags::pp},
      {"vpp", &Flags::vpp},
      {"cp", &Flags::cp},
      {"ep", &Flags::ep},
      {"micro_batch", &Flags::micro_batch},
      {"global_batch", &Flags::global_batch},
      {"seq", &Flags::seq},
      {"zero", &Flags::zero}};
  constexpr std::pair<std::string_view, std::optional<std::string> Flags::*> kWords[] = {
      {"recompute", &Flags::recompute}, {"precision", &Flags::precision}, {"offload", &Flags::offload}};
  for (const auto& [key, number] : kNumbers)
    if (key == f.key) return set_number(f, value, flags.*number);
  for (const auto& [key, word] : kWords)
    if (key == f.key) flags.*word = value;
  return {};
}

void add_flag(const ExploreField& f, const std::string& value, std::vector<std::string>& words) {
  const std::string flag = f.flag;
  const std::size_t space = flag.find(' ');
  words.push_back(flag.substr(0, space));
  words.push_back((space == std::string::npos ? "" : flag.substr(space + 1)) + value + f.unit);
}

/// What a file for this field is; empty: the field takes none.
const char* file_kind(std::string_view key) { return key == "node" ? "cluster" : key == "model" ? "model" : ""; }

}  // namespace

Json explore_fields() {
  const spec::Catalog catalog;
  Json out = Json::array();
  for (const ExploreField& f : kExploreFields) {
    Json values = Json::array();
    const bool named = *f.folder != '\0';
    if (*f.first == '\0') values.push_back("");  // the machine's own, or the command's default
    if (named)
      for (const std::string& name : catalog.names(f.folder)) values.push_back(name);
    else
      for (const std::string_view value : split_at(f.values, ' ')) values.push_back(value);
    out.push_back({{"key", f.key},
                   {"label", f.label},
                   {"help", f.help},
                   {"first", f.first},
                   {"tab", f.tab},
                   {"flag", f.flag},
                   {"file", file_kind(f.key)},
                   {"blank", f.list && !named ? "1f1b" : "the machine\u2019s own"},
                   {"list", f.list},
                   {"values", std::move(values)}});
  }
  return out;
}

std::string_view explore_label(std::string_view key) { return field_of_key(key).label; }

Result<ExploreMachines::Size> ExploreMachines::size_of(const std::string& node) {
  const std::string path = files_.path_of(ExploreFiles::Kind::kCluster, node);
  if (path.empty()) {
    const std::lock_guard lock(mutex_);
    if (const auto known = sizes_.find(node); known != sizes_.end()) return known->second;
  }
  BUSBAR_ASSIGN(const spec::Cluster one, step::load_machine(path.empty() ? node : path, {}));
  Size out{static_cast<std::uint32_t>(one.topology.gpus().size()), false};
  if (!path.empty()) return out;
  out.grows = step::load_machine(node + ":2", {}).ok();
  const std::lock_guard lock(mutex_);
  return sizes_[node] = out;
}

Result<std::string> ExploreMachines::word_of(const std::string& node, const std::string& gpus) {
  const std::string path = files_.path_of(ExploreFiles::Kind::kCluster, node);
  if (gpus.empty()) return path.empty() ? node : path;
  BUSBAR_ASSIGN(const Size size, size_of(node));
  const ExploreField& field = field_of_key("gpus");
  std::optional<std::int64_t> wanted;
  BUSBAR_RETURN_IF_ERROR(set_number(field, gpus, wanted));
  const std::int64_t n = *wanted / size.gpus;
  if (n == 0 || *wanted % size.gpus != 0)
    return field_error(field, fmt::format("{} is no multiple of {}, the GPUs of {}", gpus, size.gpus, node));
  if (n == 1) return path.empty() ? node : path;
  if (!path.empty()) return field_error(field, fmt::format("the file {} has {} GPUs", node, size.gpus));
  return fmt::format("{}:{}", node, n);
}

Result<ExploreScenario> explore_scenario(const ExploreChoice& choice, ExploreMachines& machines) {
  BUSBAR_ASSIGN(auto values, read_choice(choice, machines.files()));
  ExploreScenario out{values["node"], values["gpus"], {}, {}};
  BUSBAR_ASSIGN(out.flags.cluster, machines.word_of(out.node, out.gpus));
  BUSBAR_ASSIGN(out.flags.model, model_word(values, machines.files()));
  constexpr std::string_view kSet = "--set ";
  for (const ExploreField& f : kExploreFields) {
    const std::string& value = values[f.key];
    if (*f.flag == '\0' || value.empty() || std::string_view(f.tab) == "collective") continue;
    if (std::string_view(f.flag).starts_with(kSet))
      out.overrides.set.push_back(std::string(f.flag).substr(kSet.size()) + value + f.unit);
    else
      BUSBAR_RETURN_IF_ERROR(set_degree(f, value, out.flags.degrees));
  }
  return out;
}

Result<std::vector<std::string>> explore_words(const ExploreChoice& choice, ExploreAsk ask, ExploreMachines& machines) {
  BUSBAR_ASSIGN(auto values, read_choice(choice, machines.files()));
  BUSBAR_ASSIGN(const std::string machine, machines.word_of(values["node"], values["gpus"]));
  const bool collective = ask == ExploreAsk::kCollective || ask == ExploreAsk::kSizes;
  std::string model;
  if (!collective) {
    BUSBAR_ASSIGN(model, model_word(values, machines.files()));
  }
  std::vector<std::string> words;
  switch (ask) {
    case ExploreAsk::kStep:
      words = {"train", machine, model};
      break;
    case ExploreAsk::kPlan:
      words = {"plan", machine, model};
      break;
    case ExploreAsk::kFabrics:
      words = {"compare", machine, "--model", model};
      break;
    case ExploreAsk::kCollective:
    case ExploreAsk::kSizes: {
      const std::string op = values["op"].empty() ? "all_reduce" : values["op"];
      const std::string size = values["size"].empty() ? "64M" : values["size"];
      words = {"collective", machine, op, "-b", ask == ExploreAsk::kSizes ? "1K" : size, "-e", size};
      if (ask == ExploreAsk::kSizes) words.insert(words.end(), {"-f", "4"});
      break;
    }
    case ExploreAsk::kMachines: {
      if (values[kOther].empty()) return invalid("is missing", {"", 0, 0, "compare with"});
      BUSBAR_ASSIGN(const ExploreMachines::Size size, machines.size_of(values["node"]));
      BUSBAR_ASSIGN(const std::string one, machines.word_of(values["node"], ""));
      words = {"compare",
               one,
               values[kOther],
               "--gpus",
               values["gpus"].empty() ? std::to_string(size.gpus) : values["gpus"],
               "--model",
               model};
    }
  }
  for (const ExploreField& f : kExploreFields) {
    const std::string& value = values[f.key];
    const std::string_view key(f.key), tab(f.tab);
    const bool compares = ask == ExploreAsk::kFabrics || ask == ExploreAsk::kMachines;
    const bool own = compares && (key == "fabric" || key == "rate" || key == "latency" || key == "price");
    const bool here = tab.empty() || (tab == "collective") == collective;
    if (*f.flag != '\0' && !value.empty() && !own && here && (f.plan || ask != ExploreAsk::kPlan))
      add_flag(f, value, words);
  }
  if (ask == ExploreAsk::kPlan) words.insert(words.end(), {"--within", "60s"});
  if (ask == ExploreAsk::kFabrics) words.insert(words.end(), {"--fabrics", "ib,roce,spectrum-x,rail-only,2:1,4:1"});
  return words;
}

}  // namespace busbar::cli
