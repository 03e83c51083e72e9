#include "busbar/cli/explore_fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "busbar/base/text.h"
#include "busbar/spec/catalog.h"
#include "busbar/step/machine.h"

namespace busbar::cli {
namespace {

/// One control. `flag`: of `train`, or empty where the value is part of a word.
struct ExploreField {
  const char *key, *flag, *label, *help, *first;
  bool plan;                ///< also a flag of `plan`, which searches for the others
  const char* folder;       ///< of the catalogue: a list of its names; or empty
  bool list;                ///< otherwise a slider, whose number can also be typed
  std::string_view values;  ///< separated by spaces
};

constexpr const char* kOther = "with";
constexpr std::string_view kDegrees = "1 2 4 8 16 32 64";
// clang-format off
constexpr ExploreField kExploreFields[] = {
    {"node", "", "machine", "a node of the catalogue", "dgx-h100", false, "nodes", true, ""},
    {"nodes", "", "nodes", "", "16", false, "", false, "1 2 4 8 16 32 64 128 256 512 1024 2048"},
    {"fabric", "--set fabric=", "fabric", "", "", true, "fabrics", true, ""},
    {"model", "", "model", "", "llama3-70b", false, "models", true, ""},
    {"tp", "--tp", "tensor parallel (TP)", "", "8", false, "", false, kDegrees},
    {"pp", "--pp", "pipeline stages (PP)", "", "2", false, "", false, kDegrees},
    {"vpp", "--vpp", "chunks per stage (VPP)", "", "1", false, "", false, "1 2 3 4 5 6 8 10"},
    {"cp", "--cp", "context parallel (CP)", "", "1", false, "", false, kDegrees},
    {"ep", "--ep", "expert parallel (EP)", "", "1", false, "", false, kDegrees},
    {"micro_batch", "--micro-batch", "micro-batch", "sequences", "1", false, "", false, "1 2 4 8 16"},
    {"global_batch", "--global-batch", "global batch", "sequences", "512", true, "", false,
     "16 32 64 128 256 512 1024 2048 4096 8192 16384"},
    {"seq", "--seq", "sequence length", "tokens", "4096", true, "", false,
     "1024 2048 4096 8192 16384 32768 65536 131072"},
    {"zero", "--zero", "ZeRO", "", "1", false, "", true, "0 1 2 3"},
    {"recompute", "--recompute", "recompute", "", "selective", false, "", true, "none selective full"},
    {"schedule", "--set layout.schedule=", "schedule", "of pipeline stages", "", false, "", true,
     "gpipe zb-h1 zb-v dualpipe-v"},
    {"precision", "--precision", "precision", "", "bf16", true, "", true, "bf16 fp16 fp8 fp4"},
    {kOther, "", "compare with", "as many GPUs of another machine", "dgx-b200", false, "nodes", true, ""},
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

Status check(const ExploreField& field, const std::string& value) {
  if (!plain_value(value)) return field_error(field, "is no value; write a number, or a name of the catalogue");
  if (*field.folder == '\0' || value.empty()) return {};
  const spec::Catalog catalog;
  if (catalog.has(field.folder, value)) return {};
  return field_error(field, fmt::format("the catalogue has no '{}'; {}", value,
                                        suggestion(value, catalog.names(field.folder), "choose one of the list")));
}

/// Values by key. Errors as explore_words.
Result<std::map<std::string_view, std::string>> read_choice(const ExploreChoice& choice) {
  std::map<std::string_view, std::string> values;
  for (const auto& [key, value] : choice) {
    const auto* const field = std::find_if(std::begin(kExploreFields), std::end(kExploreFields),
                                           [&k = key](const ExploreField& f) { return k == f.key; });
    if (field == std::end(kExploreFields)) return invalid("the page has no such field", {"", 0, 0, "explore"});
    BUSBAR_RETURN_IF_ERROR(check(*field, value));
    if (!values.emplace(field->key, value).second) return field_error(*field, "is given twice");
  }
  for (const char* needed : {"node", "model"})
    if (values[needed].empty()) return invalid("is missing", {"", 0, 0, needed});
  return values;
}

void add_flag(const ExploreField& f, const std::string& value, std::vector<std::string>& words) {
  const std::string flag = f.flag;
  const std::size_t space = flag.find(' ');
  words.push_back(flag.substr(0, space));
  words.push_back(space == std::string::npos ? value : flag.substr(space + 1) + value);
}

}  // namespace

Json explore_fields() {
  const spec::Catalog catalog;
  Json out = Json::array();
  for (const ExploreField& f : kExploreFields) {
    Json values = Json::array();
    const bool named = *f.folder != '\0';
    if (*f.first == '\0') values.push_back("");
    if (named)
      for (const std::string& name : catalog.names(f.folder)) values.push_back(name);
    else
      for (const std::string_view value : split_at(f.values, ' ')) values.push_back(value);
    out.push_back({{"key", f.key},
                   {"label", f.label},
                   {"help", f.help},
                   {"first", f.first},
                   {"blank", named ? "the machine\u2019s own" : "1f1b"},
                   {"list", f.list},
                   {"values", std::move(values)}});
  }
  return out;
}

Result<std::vector<std::string>> explore_words(const ExploreChoice& choice, ExploreAsk ask) {
  BUSBAR_ASSIGN(auto values, read_choice(choice));
  const std::string machine = values["node"] + (values["nodes"].empty() ? "" : ":" + values["nodes"]);
  std::vector<std::string> words;
  switch (ask) {
    case ExploreAsk::kStep:
      words = {"train", machine, values["model"]};
      break;
    case ExploreAsk::kPlan:
      words = {"plan", machine, values["model"]};
      break;
    case ExploreAsk::kFabrics:
      words = {"compare", machine, "--model", values["model"]};
      break;
    case ExploreAsk::kMachines: {
      if (values[kOther].empty()) return invalid("is missing", {"", 0, 0, "compare with"});
      BUSBAR_ASSIGN(const spec::Cluster cluster, step::load_machine(machine, {}));
      words = {"compare", values["node"], values[kOther], "--gpus", std::to_string(cluster.topology.gpus().size()),
               "--model", values["model"]};
    }
  }
  for (const ExploreField& f : kExploreFields) {
    const std::string& value = values[f.key];
    const bool own =
        std::string_view(f.key) == "fabric" && (ask == ExploreAsk::kFabrics || ask == ExploreAsk::kMachines);
    if (*f.flag != '\0' && !value.empty() && !own && (f.plan || ask != ExploreAsk::kPlan)) add_flag(f, value, words);
  }
  if (ask == ExploreAsk::kPlan) words.insert(words.end(), {"--within", "60s"});
  if (ask == ExploreAsk::kFabrics) words.insert(words.end(), {"--fabrics", "ib,roce,spectrum-x,rail-only,2:1,4:1"});
  return words;
}

}  // namespace busbar::cli
