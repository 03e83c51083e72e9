#include "busbar/step/train_variants.h"

#include <fmt/core.h>

#include <sstream>

#include "busbar/spec/cluster_document.h"
#include "busbar/step/machine.h"

namespace busbar::step {
namespace {

Error beside_error(std::string message) { return invalid(std::move(message), {"", 0, 0, "--beside"}); }

/// A change of the layout overrides the flag of the same key.
void forget_flag(const std::string& key, spec::LayoutFlags& f) {
  const std::pair<const char*, std::optional<std::int64_t>*> degrees[] = {
      {"tp", &f.tp},     {"pp", &f.pp},
      {"vpp", &f.vpp},   {"dp", &f.dp},
      {"cp", &f.cp},     {"ep", &f.ep},
      {"seq", &f.seq},   {"micro_batch", &f.micro_batch},
      {"zero", &f.zero}, {"global_batch", &f.global_batch}};
  for (const auto& [name, flag] : degrees)
    if (key == name) flag->reset();
  if (key == "precision") f.precision.reset();
  if (key == "recompute") f.recompute.reset();
}

Status change(const std::string& word, TrainInput& input, bool& fold) {
  if (word == "unfolded") {
    fold = false;
    return {};
  }
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  if (equals != std::string::npos && equals + 1 < word.size()) {
    const std::string value = word.substr(equals + 1);
    if (key == "cluster") {
      input.flags.cluster = value;
      std::erase_if(input.overrides.set, [](const std::string& s) { return spec::cluster_key(s).has_value(); });
      input.overrides.degrade.clear();
      input.overrides.fail.clear();
      input.overrides.gpu.clear();
      input.overrides.gpu_memory_rate.clear();
      return {};
    }
    if (key == "model") {
      input.flags.model = value;
      return {};
    }
    if (key.starts_with("layout.")) forget_flag(key.substr(7), input.flags.degrees);
    if (key == "layout.framework") input.flags.framework.clear();
    if (key.starts_with("layout.") || key.starts_with("model.") || spec::cluster_key(key)) {
      input.overrides.set.push_back(word);
      return {};
    }
  }
  return beside_error(
      fmt::format("'{}' is not a change; write cluster=NAME, model=NAME, model.KEY=VALUE, layout.KEY=VALUE, a key of "
                  "the cluster such as fabric=NAME, or unfolded, separated by spaces",
                  word));
}

}  // namespace

Result<spec::Scenario> read_scenario(const TrainInput& input) {
  const spec::Catalog catalog(input.overrides.catalog);
  if (!input.scenario.empty())
    return spec::load_scenario(input.scenario, input.flags, input.overrides, catalog, gpu_of_machine);
  if (input.flags.cluster.empty() && input.flags.model.empty())
    return invalid("name a scenario file, or a machine and a model: dgx-h100:64 llama3-70b --tp 8");
  return spec::scenario_from_flags(input.flags, input.overrides, catalog, gpu_of_machine);
}

Result<std::vector<TrainVariant>> read_variants(const TrainInput& input, const std::vector<std::string>& besides) {
  std::vector<TrainVariant> out;
  BUSBAR_ASSIGN(spec::Scenario own, read_scenario(input));
  out.push_back({"", std::move(own), true});
  for (const std::string& text : besides) {
    TrainInput other = input;
    TrainVariant variant{.change = text, .scenario = {}, .fold = true};
    std::istringstream words(text);
    std::string word;
    std::size_t changes = 0;
    for (; words >> word; ++changes) BUSBAR_RETURN_IF_ERROR(change(word, other, variant.fold));
    if (changes == 0) return beside_error("gives no change; write for example cluster.routing=static");
    Result<spec::Scenario> changed = read_scenario(other);
    if (!changed.ok()) return with_change(changed.error(), text);
    variant.scenario = std::move(*changed);
    out.push_back(std::move(variant));
  }
  return out;
}

Error with_change(Error error, const std::string& change) {
  error.message = fmt::format("{} (with --beside '{}')", error.message, change);
  return error;
}

std::string heading_of(const TrainVariant& v) { return v.change.empty() ? "as asked" : v.change; }

}  // namespace busbar::step
