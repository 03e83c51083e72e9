#include "busbar/cli/explore_looks.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "busbar/cli/explore_layouts.h"
#include "busbar/plan/step_bound.h"
#include "busbar/step/machine.h"
#include "busbar/topology/gpu_memory.h"

namespace busbar::cli {
namespace {

constexpr std::size_t kMostOpened = 2;
constexpr std::uint32_t kMostGpus = 16384;  ///< of the slider

std::string value_of(const ExploreChoice& choice, std::string_view key) {
  for (const auto& [name, value] : choice)
    if (name == key) return value;
  return "";
}

/// False: the value was the same.
bool set_value(ExploreChoice& choice, const std::string& key, const std::string& value) {
  for (auto& [name, old] : choice)
    if (name == key) return std::exchange(old, value) != value;
  choice.emplace_back(key, value);
  return true;
}

void add_mended(const std::string& key, const std::string& from, const std::string& to, Json& out) {
  out["mended"].push_back(fmt::format("{} {} instead of {}", explore_label(key), to, from.empty() ? "none" : from));
}

/// Numbers of GPUs that a machine can have: its servers times 1, 2, 3, 4, 6, 8, 12, ...
std::vector<std::uint32_t> sizes_of(const ExploreMachines::Size& size) {
  if (!size.grows) return {size.gpus};
  std::set<std::uint32_t> out;
  for (std::uint64_t n = size.gpus; n <= std::max<std::uint64_t>(kMostGpus, size.gpus); n *= 2) {
    out.insert(static_cast<std::uint32_t>(n));
    if (3 * n <= kMostGpus) out.insert(static_cast<std::uint32_t>(3 * n));
  }
  return {out.begin(), out.end()};
}

}  // namespace

/// The number of GPUs stays as near as the machine allows.
Status ExploreLooks::mend_size(ExploreChoice& choice, Json& out) {
  const std::string asked = value_of(choice, "gpus");
  BUSBAR_ASSIGN(const ExploreMachines::Size size, machines_.size_of(value_of(choice, "node")));
  double gpus = 0;
  std::from_chars(asked.data(), asked.data() + asked.size(), gpus);
  const double blocks = std::clamp(std::round(gpus / size.gpus), 1.0, 131072.0 / size.gpus + 1);
  const auto legal = static_cast<std::uint32_t>(size.grows ? blocks * size.gpus : size.gpus);
  if (set_value(choice, "gpus", std::to_string(legal))) add_mended("gpus", asked, std::to_string(legal), out);
  std::vector<std::uint32_t> stops = sizes_of(size);
  if (std::find(stops.begin(), stops.end(), legal) == stops.end())
    stops.insert(std::upper_bound(stops.begin(), stops.end(), legal), legal);
  out["stops"]["gpus"] = stops;
  return {};
}

Result<ExploreLooks::Opened*> ExploreLooks::open(const ExploreScenario& asked, StopFlag stop) {
  std::string key = fmt::format("{} {}", asked.flags.cluster, asked.flags.model);
  if (key.find('/') != std::string::npos) key.clear();  // a file may change under its name
  for (const std::string& set : asked.overrides.set)
    if (!key.empty()) key += " " + set;
  const auto known =
      std::find_if(opened_.begin(), opened_.end(), [&](const Opened& o) { return !key.empty() && o.key == key; });
  if (known != opened_.end()) {
    opened_.splice(opened_.begin(), opened_, known);
    return &opened_.front();
  }
  BUSBAR_ASSIGN(spec::Scenario scenario,
                spec::scenario_from_flags(asked.flags, asked.overrides, spec::Catalog(), step::gpu_of_machine));
  step::TrainAsk ask;
  ask.timeline = ask.scaling = false;
  ask.stop = stop;
  Opened fresh{std::move(key), {}, nullptr};
  BUSBAR_ASSIGN(fresh.run, step::open_train(std::move(scenario), ask));
  fresh.floors = std::make_unique<plan::CallFloors>(*fresh.run.machine);
  opened_.push_front(std::move(fresh));
  if (opened_.size() > kMostOpened) opened_.pop_back();
  return &opened_.front();
}

Status ExploreLooks::look_at(ExploreChoice& choice, const std::string& moved, StopFlag stop, std::string& why,
                             Json& out) {
  BUSBAR_RETURN_IF_ERROR(mend_size(choice, out));
  if (value_of(choice, "model").empty()) return {};  // a collective
  BUSBAR_ASSIGN(const ExploreScenario asked, explore_scenario(choice, machines_));
  BUSBAR_ASSIGN(const Opened* const opened, open(asked, stop));
  const step::TrainRun& run = opened->run;
  const workload::ModelSpec& model = run.scenario.model;
  workload::LayoutSpec layout = run.scenario.layout;
  BUSBAR_RETURN_IF_ERROR(spec::apply_flags(asked.flags.degrees, layout));
  const LayoutRoom room{model, run.gpus, opened->floors->block_gpus(), topology::gpu_memory(run.cluster().topology)};
  const bool other_job = moved == "node" || moved == "model" || moved == "gpus";
  const workload::LayoutSpec legal = nearest_layout(room, layout, other_job, moved);
  if (const auto asked_for = workload::resolve_layout(layout, model, room.gpus); !asked_for.ok())
    why = asked_for.error().message;
  for (const auto& [key, value] : layout_values(legal)) {
    const std::string before = value_of(choice, key);
    if (set_value(choice, key, value)) add_mended(key, before, value, out);
  }
  for (const auto& [key, stops] : legal_stops(room, legal)) out["stops"][key] = stops;
  BUSBAR_ASSIGN(const workload::LayoutSpec resolved, workload::resolve_layout(legal, model, room.gpus));
  const workload::MemoryUse memory = workload::memory_use(model, resolved);
  out["memory_bytes"] = count(memory.total());
  out["capacity_bytes"] = count(room.capacity);
  out["fits"] = workload::check_fits(memory, room.capacity).ok();
  BUSBAR_ASSIGN(const Duration bound, plan::step_bound(model, resolved, run.kernels, *opened->floors));
  out["bound_s"] = run.law.mean_of(bound).in_s();
  return {};
}

Json ExploreLooks::look(const ExploreChoice& choice, const std::string& moved, StopFlag stop) {
  const std::lock_guard lock(mutex_);
  ExploreChoice mended = choice;
  Json out{{"mended", Json::array()}, {"stops", Json::object()}};
  std::string why;
  if (const Status done = look_at(mended, moved, stop, why, out); !done.ok()) why = done.error().text();
  out["message"] = machines_.files().without_folder(std::move(why));
  out["values"] = Json::object();
  for (const auto& [key, value] : mended) out["values"][key] = value;
  return out;
}

}  // namespace busbar::cli
