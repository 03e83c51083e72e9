#include "busbar/choice/relief.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "busbar/base/cores.h"
#include "busbar/lowering/lowering.h"

namespace busbar::choice {

namespace {

/// For each kind of link that occurs in several tiers, a group of all its tiers.
std::vector<LinkGroup> whole_kinds(const std::vector<LinkGroup>& tiers) {
  std::vector<LinkGroup> kinds;
  std::vector<std::uint32_t> members;
  for (const LinkGroup& tier : tiers) {
    const std::string name = tier.name.substr(0, tier.name.find(',')) + ", every tier";
    const auto it = std::find_if(kinds.begin(), kinds.end(), [&](const LinkGroup& k) { return k.name == name; });
    const auto at = static_cast<std::size_t>(it - kinds.begin());
    if (it == kinds.end()) kinds.push_back({name, {}}), members.push_back(0);
    kinds[at].classes.insert(kinds[at].classes.end(), tier.classes.begin(), tier.classes.end());
    ++members[at];
  }
  std::vector<LinkGroup> out;
  for (std::size_t k = 0; k < kinds.size(); ++k)
    if (members[k] > 1) out.push_back(std::move(kinds[k]));
  return out;
}

}  // namespace

std::vector<LinkGroup> link_groups(const topology::Topology& t) {
  std::vector<LinkGroup> groups;
  std::vector<bool> seen(t.link_classes().size(), false);
  for (std::uint32_t l = 0; l < t.link_count(); ++l) {
    const auto link = static_cast<topology::LinkId>(l);
    const std::uint16_t c = t.link_class_index(link);
    if (seen[c] || t.failed(link)) continue;
    seen[c] = true;
    const char* a = topology::name_of(t.kind(t.from(link)));
    const char* b = topology::name_of(t.kind(t.to(link)));
    const topology::LinkClass& of = t.link_class(link);
    const std::string name =
        fmt::format("{}, {}-{}", of.brand.empty() ? topology::name_of(of.kind) : of.brand.c_str(), a, b);
    const auto it = std::find_if(groups.begin(), groups.end(), [&](const LinkGroup& g) { return g.name == name; });
    if (it == groups.end())
      groups.push_back({name, {c}});
    else
      it->classes.push_back(c);
  }
  for (LinkGroup& g : whole_kinds(groups)) groups.push_back(std::move(g));
  for (LinkGroup& g : groups) {
    std::sort(g.classes.begin(), g.classes.end());
    g.classes.erase(std::unique(g.classes.begin(), g.classes.end()), g.classes.end());
  }
  return groups;
}

double gain_percent(double before_ps, double after_ps) { return std::max(0.0, 100 * (1 - after_ps / before_ps)); }

void sort_by_gain(std::vector<Relief>& relief) {
  std::stable_sort(relief.begin(), relief.end(),
                   [](const Relief& a, const Relief& b) { return a.gain_percent > b.gain_percent; });
}

namespace {

struct LinkChange {
  std::string what;
  lowering::WhatIf change, limit;  ///< `limit` removes the limit altogether
};

/// Evaluates one call under changed links.
class Changes {
 public:
  Changes(const routing::Router& router, const routing::Placement& placement, const program::ProtocolModel& protocol,
          const program::CollectiveCall& call)
      : lowering_(router, placement, protocol, {.pairs_apart = 0}), call_(call) {
    lowering_.follow_rings(false);  // many calls, of which only the differences are asked
  }

  Result<lowering::LoweredCall> lower() { return lowering_.lower(call_); }
  const lowering::Lowering& lowering() const { return lowering_; }

  Result<Relief> relief(const LinkChange& change, double before_ps, bool every) {
    Relief r{change.what, 0, 0, {}};
    lowering_.set_what_if(change.change);
    BUSBAR_ASSIGN(const lowering::LoweredCall changed, lower());
    r.gain_percent = gain_percent(before_ps, lowering::closed_form_ps(changed));
    if (!every) return r;
    lowering_.set_what_if(change.limit);
    BUSBAR_ASSIGN(const lowering::LoweredCall freed, lower());
    r.most_percent = gain_percent(before_ps, lowering::closed_form_ps(freed));
    r.next = lowering::bound_of(freed);
    return r;
  }

 private:
  lowering::Lowering lowering_;
  const program::CollectiveCall& call_;
};

constexpr double kNoLimit = 1e6;  // factor on the rate

/// The classes of the cables of NICs, degraded ones with sound ones, and of NIC slots if nothing else in the node of
/// `gpu` has such a link; and the number of NICs with a cable in that node.
std::pair<std::vector<std::uint16_t>, std::uint32_t> nics_of(const topology::Topology& t, topology::DeviceId gpu,
                                                             const std::vector<LinkGroup>& groups) {
  std::vector<std::uint8_t> other(t.link_classes().size(), 0);
  const topology::Block& block = t.blocks()[index(t.block_of(gpu))];
  std::uint32_t nics = 0;
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<topology::DeviceId>(block.first_device + p);
    bool cable = false;
    for (const topology::LinkId l : t.out_links(d)) {
      cable |= t.block_of(t.to(l)) != t.block_of(d);
      if (t.kind(d) != topology::DeviceKind::kNic && t.kind(t.to(l)) != topology::DeviceKind::kNic)
        other[t.link_class_index(l)] = 1;
    }
    nics += t.kind(d) == topology::DeviceKind::kNic && cable;
  }
  std::vector<std::uint16_t> classes;
  for (const LinkGroup& g : groups)
    if (g.name.find(" nic-") != std::string::npos || g.name.ends_with("-nic"))
      for (const std::uint16_t c : g.classes)
        if (!other[c]) classes.push_back(c);
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  return {classes, nics};
}

/// The changes to links that the call uses.
std::vector<LinkChange> changes_of(const lowering::LoweredCall& base, const lowering::Lowering& lowering,
                                   const topology::Topology& t, topology::DeviceId gpu, bool every) {
  std::vector<bool> used(t.link_classes().size(), false);
  for (const lowering::Stage& s : base.stages) {
    if (s.busiest != kNone<topology::LinkId>)
      used[t.link_class_index(s.busiest)] = true;  // else a reduction in a switch
    for (const routing::CapacityId c : s.on)
      if (every)
        lowering.capacities().for_each_link(c, [&](topology::LinkId x, double) { used[t.link_class_index(x)] = true; });
  }
  const auto is_used = [&](std::uint16_t c) { return used[c]; };
  std::vector<LinkChange> out;
  const std::vector<LinkGroup> groups = link_groups(t);
  for (const LinkGroup& g : groups) {
    if (std::none_of(g.classes.begin(), g.classes.end(), is_used)) continue;
    out.push_back({"+10 % rate of " + g.name, {g.classes, 1.1, 1.0, {}}, {g.classes, kNoLimit, 1.0, {}}});
    if (!g.name.ends_with("every tier"))
      out.push_back(
          {"1 us less latency of " + g.name, {g.classes, 1.0, 1.0, Duration::us(1)}, {g.classes, 1.0, 0.0, {}}});
  }
  const auto [classes, nics] = nics_of(t, gpu, groups);
  if (nics > 0 && std::any_of(classes.begin(), classes.end(), is_used))
    out.push_back({fmt::format("one more NIC per node, {} instead of {}", nics + 1, nics),
                   {classes, (nics + 1.0) / nics, 1.0, {}},
                   {classes, kNoLimit, 1.0, {}}});
  return out;
}

}  // namespace

Result<std::vector<Relief>> find_relief(const routing::Router& router, const routing::Placement& placement,
                                        const program::ProtocolModel& protocol, const program::CollectiveCall& call,
                                        bool every, const OtherThreads& others) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  Changes first(router, placement, protocol, call);
  BUSBAR_ASSIGN(const lowering::LoweredCall base, first.lower());
  const double before_ps = lowering::closed_form_ps(base);
  const topology::DeviceId gpu = placement.gpu(call.groups.actor(0, 0));
  const std::vector<LinkChange> changes = changes_of(base, first.lowering(), router.topology(), gpu, every);
  const bool worth = std::chrono::duration<double>(Clock::now() - begin).count() >= others.worth_s;
  std::vector<std::unique_ptr<routing::Router>> routers(1 + (worth ? others.count : 0));
  std::vector<std::unique_ptr<Changes>> machines(routers.size());
  std::vector<std::optional<Result<Relief>>> found(changes.size());
  share_out(changes.size(), machines.size(), [&](std::size_t i, std::size_t thread) {
    if (thread > 0 && !machines[thread]) {
      routers[thread] = others.router();
      machines[thread] = std::make_unique<Changes>(*routers[thread], placement, protocol, call);
    }
    found[i] = (thread == 0 ? first : *machines[thread]).relief(changes[i], before_ps, every);
  });
  std::vector<Relief> out;
  for (std::optional<Result<Relief>>& r : found) {
    BUSBAR_ASSIGN(Relief relief, std::move(*r));
    out.push_back(std::move(relief));
  }
  sort_by_gain(out);
  return out;
}

}  // namespace busbar::choice
