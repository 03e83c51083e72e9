#include "busbar/questions/plan_frameworks.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "busbar/spec/framework.h"

namespace busbar::questions {
namespace {

constexpr std::pair<const char*, std::string plan::PlanLists::*> kFrameworkLists[] = {
    {"tp", &plan::PlanLists::tp},     {"pp", &plan::PlanLists::pp},       {"vpp", &plan::PlanLists::vpp},
    {"cp", &plan::PlanLists::cp},     {"ep", &plan::PlanLists::ep},       {"schedule", &plan::PlanLists::schedule},
    {"zero", &plan::PlanLists::zero}, {"order", &plan::PlanLists::order}, {"recompute", &plan::PlanLists::recompute}};

Where framework_field() { return {"", 0, 0, "framework"}; }

Result<std::optional<FrameworkSpace>> open_space(const std::string& text, const workload::ModelSpec& model,
                                                 const spec::Catalog& catalog) {
  BUSBAR_ASSIGN(const spec::Framework framework, spec::Framework::open(text, framework_field(), catalog));
  BUSBAR_ASSIGN(const std::optional<spec::FrameworkRuns> what, framework.runs(model));
  if (!what) return std::optional<FrameworkSpace>();
  FrameworkSpace out{framework.name(), what->program, {}};
  for (const auto& [name, list] : kFrameworkLists)
    if (const auto at = what->lists.find(name); at != what->lists.end()) out.lists.*list = at->second;
  return std::optional(std::move(out));
}

template <typename T>
bool has(const std::vector<T>& list, const T& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

bool has_kind(const std::vector<plan::PlanRecompute>& list, const plan::PlanRecompute& kind) {
  return std::any_of(list.begin(), list.end(), [&](const plan::PlanRecompute& r) { return r.key() == kind.key(); });
}

plan::PlanRecompute kind_of(const workload::LayoutSpec& l) {
  return l.recomputation.kind == workload::Recompute::kSelective
             ? plan::PlanRecompute(l.recomputation.kind, l.recomputation.modules)
             : l.recomputation.kind;
}

}  // namespace

Result<std::vector<FrameworkSpace>> framework_spaces(const workload::ModelSpec& model, const spec::Catalog& catalog) {
  std::vector<FrameworkSpace> out;
  for (const std::string& name : spec::framework_names(catalog)) {
    BUSBAR_ASSIGN(std::optional<FrameworkSpace> space, open_space(name, model, catalog));
    if (space) out.push_back(std::move(*space));
  }
  return out;
}

Result<FrameworkSpace> framework_space(const std::string& text, const workload::ModelSpec& model,
                                       const spec::Catalog& catalog) {
  BUSBAR_ASSIGN(std::optional<FrameworkSpace> space, open_space(text, model, catalog));
  if (space) return std::move(*space);
  BUSBAR_ASSIGN(const std::vector<FrameworkSpace> known, framework_spaces(model, catalog));
  std::string names;
  for (const FrameworkSpace& f : known) names += (names.empty() ? "" : ", ") + f.name;
  return invalid(fmt::format("what {} runs is not known; known are {}", text, names), framework_field());
}

Result<plan::PlanSpace> space_in(const FrameworkSpace& framework, const plan::PlanLists& typed,
                                 const workload::LayoutSpec& base) {
  plan::PlanLists lists = typed;
  for (const auto& [name, list] : kFrameworkLists)
    if ((lists.*list).empty()) lists.*list = framework.lists.*list;
  BUSBAR_ASSIGN(const plan::PlanSpace all, plan::read_space(framework.lists, base));
  BUSBAR_ASSIGN(plan::PlanSpace space, plan::read_space(lists, base));
  space.changes_of_best.clear();  // it is not known which of them it runs
  const auto limit = [](auto& values, const auto& known) {
    std::erase_if(values, [&](const auto& v) { return !has(known, v); });
    return !values.empty();
  };
  const auto kinds = [&] {
    std::erase_if(space.recompute, [&](const plan::PlanRecompute& r) { return !has_kind(all.recompute, r); });
    return !space.recompute.empty();
  };
  const std::pair<const char*, bool> left[] = {{"schedule", limit(space.schedule, all.schedule)},
                                               {"zero", limit(space.zero, all.zero)},
                                               {"recompute", typed.recompute.empty() || kinds()},
                                               {"tp", space.tp.empty() || limit(space.tp, all.tp)},
                                               {"pp", space.pp.empty() || limit(space.pp, all.pp)},
                                               {"vpp", space.vpp.empty() || limit(space.vpp, all.vpp)},
                                               {"cp", space.cp.empty() || limit(space.cp, all.cp)},
                                               {"ep", space.ep.empty() || limit(space.ep, all.ep)},
                                               {"order", space.order.empty() || limit(space.order, all.order)}};
  for (const auto& [name, any] : left)
    if (!any) return invalid(fmt::format("{} runs none of these values", framework.program), {"", 0, 0, name});
  return space;
}

bool runs(const FrameworkSpace& framework, const workload::LayoutSpec& l) {
  const Result<plan::PlanSpace> all = plan::read_space(framework.lists, workload::LayoutSpec());
  return all.ok() && has(all->tp, l.tp) && has(all->pp, l.pp) && has(all->vpp, l.vpp) && has(all->cp, l.cp) &&
         has(all->ep, l.ep) && has(all->zero, l.sharding.zero) && has(all->schedule, l.schedule) &&
         has(all->order, l.rank_order) && has_kind(all->recompute, kind_of(l));
}

}  // namespace busbar::questions
