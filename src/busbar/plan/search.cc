#include "busbar/plan/search.h"

#include <algorithm>
#include <queue>

#include "busbar/plan/quick_bound.h"

namespace busbar {
namespace {

class Search {
 public:
  Search(const PlanSpace& space, const ModelSpec& model, const KernelTable& kernels, CallFloors& floors,
         const PlanAsk& ask)
      : space_(space), model_(model), kernels_(kernels), floors_(floors), ask_(ask) {}

  Result<Plan> run() {
    open();
    while (!queue_.empty() && queue_.top().bound < best_) {
      if (!ask_.go_on()) break;
      const Entry next = queue_.top();
      queue_.pop();
      if (next.fitting == kNone32) {
        BUSBAR_RETURN_IF_ERROR(split(points_[next.point], next.bound));
      } else {
        BUSBAR_RETURN_IF_ERROR(time(next.fitting));
      }
    }
    close();
    return std::move(plan_);
  }

 private:
  struct Entry {
    Duration bound;
    std::uint32_t point = 0, fitting = kNone32;  ///< the second: index into fitting_, with the program's bound
    /// The least bound first; of equal ones, those that fit and then the first of the space.
    bool operator<(const Entry& o) const {
      if (bound != o.bound) return bound > o.bound;
      if ((fitting == kNone32) != (o.fitting == kNone32)) return fitting == kNone32;
      return fitting == kNone32 ? point > o.point : fitting > o.fitting;
    }
  };

  void open() {
    points_ = points_of(space_, model_, ask_.gpus);
    QuickBounds quick(space_, model_, kernels_, floors_);
    std::vector<Entry> entries;
    entries.reserve(points_.size());
    for (std::uint32_t i = 0; i < points_.size(); ++i) {
      const Duration bound = quick.of(points_[i]);
      if (bound > Duration()) entries.push_back({bound, i});
    }
    plan_.searched = points_.size() * space_.zero.size();
    plan_.refused = (points_.size() - entries.size()) * space_.zero.size();
    queue_ = std::priority_queue<Entry>({}, std::move(entries));
  }

  /// The layouts of a point that fit, with the bounds of their programs.
  Status split(const PlanPoint& point, Duration quick) {
    for (const std::uint32_t zero : space_.zero) {
      Result<LayoutSpec> layout = resolve_layout(layout_of(space_, point, zero), model_, ask_.gpus);
      if (!layout.ok()) {
        ++plan_.refused;
        continue;
      }
      PlannedLayout l{std::move(*layout), {}, quick, {}};
      l.memory = memory_use(model_, l.layout);
      if (count(l.memory.total()) > count(ask_.capacity)) {
        ++plan_.no_fit;
        if (fitting_.empty() && (!plan_.least || count(l.memory.total()) < count(plan_.least->memory.total())))
          plan_.least = std::move(l);
        continue;
      }
      BUSBAR_ASSIGN(const Duration bound, step_bound(model_, l.layout, kernels_, floors_));
      l.bound = std::max(quick, bound);
      queue_.push({l.bound, 0, static_cast<std::uint32_t>(fitting_.size())});
      fitting_.push_back(std::move(l));
    }
    return {};
  }

  Status time(std::uint32_t i) {
    if (plan_.layouts.empty()) plan_.lower_bound = fitting_[i].bound;
    BUSBAR_ASSIGN(fitting_[i].step, ask_.time(fitting_[i].layout));
    best_ = std::min(best_, fitting_[i].step.step_time);
    plan_.layouts.push_back(std::move(fitting_[i]));
    return {};
  }

  void close() {
    plan_.complete = queue_.empty() || queue_.top().bound >= best_;
    plan_.proven = plan_.complete || plan_.layouts.empty() ? best_ : queue_.top().bound;
    plan_.bounded = plan_.searched - plan_.refused - plan_.no_fit - plan_.layouts.size();
    if (!plan_.layouts.empty()) plan_.least.reset();
    std::stable_sort(
        plan_.layouts.begin(), plan_.layouts.end(),
        [](const PlannedLayout& a, const PlannedLayout& b) { return a.step.step_time < b.step.step_time; });
  }

  const PlanSpace& space_;
  const ModelSpec& model_;
  const KernelTable& kernels_;
  CallFloors& floors_;
  const PlanAsk& ask_;
  std::vector<PlanPoint> points_;
  std::vector<PlannedLayout> fitting_;
  std::priority_queue<Entry> queue_;
  Duration best_ = Duration::max();
  Plan plan_;
};

}  // namespace

Result<Plan> search_plan(const PlanSpace& space, const ModelSpec& model, const KernelTable& kernels, CallFloors& floors,
                         const PlanAsk& ask) {
  return Search(space, model, kernels, floors, ask).run();
}

}  // namespace busbar
