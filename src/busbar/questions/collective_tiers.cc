#include "busbar/questions/collective_tiers.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "busbar/lowering/capacity_table.h"
#include "busbar/lowering/stage_bytes.h"
#include "busbar/questions/collective_course.h"
#include "busbar/topology/tiers.h"

namespace busbar::questions {
namespace {

using topology::DeviceKind;
using TierKey = std::pair<TierKind, std::uint8_t>;

/// The tier of each device.
class TierNames {
 public:
  explicit TierNames(const topology::Topology& t) : t_(t), fabric_(t.device_count(), 0) {
    if (!t.fabric_switches().empty()) fabric_ = topology::switch_tiers(t);
    level_.assign(t.device_count(), 0);
    for (std::uint32_t d = 0; d < t.device_count(); ++d)
      if (is_scale_up(d)) level_[d] = 2;
    for (std::uint32_t d = 0; d < t.device_count(); ++d)
      for (const topology::LinkId l : t.out_links(static_cast<topology::DeviceId>(d)))
        if (t.kind(t.to(l)) == DeviceKind::kGpu && level_[d] > 0) level_[d] = 1;
  }
  TierKey of(topology::DeviceId d) const {
    const DeviceKind kind = t_.kind(d);
    if (kind == DeviceKind::kGpu) return {TierKind::kGpus, 0};
    if (kind == DeviceKind::kNic) return {TierKind::kNics, 0};
    if (fabric_[index(d)] > 0) return {TierKind::kFabric, fabric_[index(d)]};
    if (level_[index(d)] > 0) return {TierKind::kScaleUp, level_[index(d)]};
    return {TierKind::kHost, 0};
  }

 private:
  bool is_scale_up(std::uint32_t d) const {
    const DeviceKind kind = t_.kind(static_cast<topology::DeviceId>(d));
    return kind == DeviceKind::kNvSwitch || (kind == DeviceKind::kSwitch && fabric_[d] == 0);
  }
  const topology::Topology& t_;
  std::vector<std::uint8_t> fabric_, level_;
};

class TierBuilder {
 public:
  explicit TierBuilder(const predict::Predictor& machine) : t_(machine.cluster().topology), names_(t_) {}

  /// Consecutive stages of one phase and equal times are kept apart; pictures join what is too short for them.
  void add(const lowering::Stage& stage, const lowering::CapacityTable& capacities, double factor) {
    std::map<topology::LinkId, double> on_links;
    lowering::for_each_link_bytes(stage, capacities, factor,
                                  [&](topology::LinkId l, double sent) { on_links[l] += sent; });
    std::map<std::pair<TierKey, TierKey>, double> sums;
    for (const auto& [link, bytes] : on_links) {
      const TierKey from = names_.of(t_.from(link)), to = names_.of(t_.to(link));
      if (bytes <= 0 || (from == to && from.first != TierKind::kGpus)) continue;
      sums[{from, to}] += bytes;
      if (!links_.insert(link).second) continue;
      rates_[{from, to}] += t_.payload_rate(link);
      for (const topology::DeviceId d : {t_.from(link), t_.to(link)}) devices_[names_.of(d)].insert(d);
    }
    stages_.push_back(std::move(sums));
  }

  void write(TierCourse& out) const {
    std::map<TierKey, std::uint32_t> place;
    for (const auto& [key, devices] : devices_) {
      place[key] = static_cast<std::uint32_t>(out.tiers.size());
      out.tiers.push_back({key.first, key.second, t_.kind(*devices.begin()) == DeviceKind::kNvSwitch,
                           static_cast<std::uint32_t>(devices.size())});
    }
    double fullest = 0;
    for (const auto& [ends, rate] : rates_) {
      out.ways.push_back({place.at(ends.first), place.at(ends.second), rate});
      double bytes = 0;
      for (std::size_t s = 0; s < stages_.size(); ++s) {
        const auto found = stages_[s].find(ends);
        out.stages[s].bytes.push_back(found == stages_[s].end() ? 0 : found->second);
        bytes += out.stages[s].bytes.back();
      }
      if (bytes / rate <= fullest) continue;
      fullest = bytes / rate;
      out.busiest = fmt::format("{} to {}", words_of(out.tiers[place.at(ends.first)]),
                                words_of(out.tiers[place.at(ends.second)]));
    }
  }

 private:
  const topology::Topology& t_;
  TierNames names_;
  std::vector<std::map<std::pair<TierKey, TierKey>, double>> stages_;
  std::map<std::pair<TierKey, TierKey>, double> rates_;
  std::map<TierKey, std::set<topology::DeviceId>> devices_;
  std::set<topology::LinkId> links_;
};

}  // namespace

std::string words_of(const MachineTier& tier) {
  const auto many = [&](const std::string& one, const char* more) {
    return fmt::format("{} {}{}", tier.devices, one, tier.devices == 1 ? "" : more);
  };
  switch (tier.kind) {
    case TierKind::kGpus:
      return many("GPU", "s");
    case TierKind::kNics:
      return many("NIC", "s");
    case TierKind::kHost:
      return "PCIe switches and CPUs";
    case TierKind::kFabric:
      return many(topology::tier_name(tier.level) + " switch", "es");
    case TierKind::kScaleUp:
      break;
  }
  return many(std::string(tier.level > 1 ? "second-level " : "") + (tier.nvswitches ? "NVSwitch" : "scale-up switch"),
              "es");
}

Result<TierCourse> tier_course_of(const predict::Prediction& row, const predict::Predictor& machine) {
  if (!row.call.parts.empty() || row.jobs.size() > 1) return unsupported("several calls at a time have no stages");
  const std::unique_ptr<engine::Engine> engine = machine.open_engine();
  BUSBAR_ASSIGN(const program::CallId id, engine->prepare(row.call));
  const lowering::LoweredCall& call = *engine->lowered(id);
  const lowering::CapacityTable capacities(machine.router(), machine.protocol(), {}, {}, engine->shortcuts());
  TierCourse out;
  out.row = row;
  out.launch_s = std::min(machine.protocol().launch.in_s(), row.time.in_s());
  const double first_ps = call.launch_ps, all_ps = lowering::closed_form_ps(call) - first_ps;
  if (all_ps <= 0) return unsupported("nothing is sent");
  const double stretch = (row.time.in_s() - out.launch_s) / all_ps;
  TierBuilder builder(machine);
  double at_s = out.launch_s;
  for (const lowering::Stage& s : call.stages) {
    const double end_s = at_s + std::max(s.slowest_alone_ps, s.load_ps) * stretch;
    out.stages.push_back({s.phase, at_s, end_s, {}});
    builder.add(s, capacities, 1 / call.time_factor);
    at_s = end_s;
  }
  builder.write(out);
  return out;
}

std::vector<TierCourse> tier_courses_of(const std::vector<predict::Prediction>& rows, predict::Predictor& machine) {
  std::vector<TierCourse> out;
  Bytes largest{0};
  for (const predict::Prediction& row : rows) largest = std::max(largest, row.size());
  const auto add = [&](const predict::Prediction& row) {
    if (Result<TierCourse> course = tier_course_of(row, machine); course.ok()) out.push_back(std::move(*course));
  };
  for (const predict::Prediction& row : rows)
    if (row.size() == largest) add(row);
  const auto by_time = [](const TierCourse& a, const TierCourse& b) { return a.row.time < b.row.time; };
  std::stable_sort(out.begin(), out.end(), by_time);
  if (out.empty() || out[0].row.call.groups.size() > kMostRanksOfOthers) return out;
  const std::size_t given = out.size();
  for (const predict::Prediction& other : others_at(out[0].row, machine))
    if (std::none_of(out.begin(), out.end(), [&](const auto& c) { return c.row.algorithm == other.algorithm; }))
      add(other);
  std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(given), out.end(), by_time);
  return out;
}

}  // namespace busbar::questions
