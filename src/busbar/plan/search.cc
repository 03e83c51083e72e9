#include "busbar/plan/search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "busbar/base/cores.h"
#include "busbar/plan/internal/memory_floor.h"
#include "busbar/plan/internal/quick_bound.h"
#include "busbar/plan/layout_flags.h"

namespace busbar::plan {
namespace {

class Search {
 public:
  Search(const PlanSpace& space, const workload::ModelSpec& model, const workload::KernelTable& kernels,
         CallFloors& floors, const PlanAsk& ask)
      : space_(space), model_(model), kernels_(kernels), ask_(ask), memory_(space, model) {
    MachineUse all{ask.gpus, {{&floors, ask.time}}};
    all.workers.insert(all.workers.end(), ask.others.begin(), ask.others.end());
    uses_.push_back(std::move(all));
    uses_.insert(uses_.end(), ask.spared.begin(), ask.spared.end());
    for (const MachineUse& use : uses_)
      quick_.push_back(std::make_unique<QuickBounds>(space, model, kernels, *use.workers[0].floors));
  }

  Result<Plan> run() {
    BUSBAR_RETURN_IF_ERROR(open(true, true));
    BUSBAR_ASSIGN(const bool going, search(kGuesses));
    if (going || ask_.rows > 0) BUSBAR_RETURN_IF_ERROR(open(false, going));
    if (going) {
      BUSBAR_ASSIGN(const bool whole, search());
      if (whole) BUSBAR_RETURN_IF_ERROR(try_changes());
    }
    close();
    return std::move(plan_);
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>;
  struct Entry {
    Duration bound;
    std::uint32_t point = 0, zero = 0;
    std::uint32_t fitting = kNone32;  ///< index into fitting_: the bound is that of its program
    bool closed = false;              ///< with closed forms of its calls: the next thing is to time it
    bool sends = false;               ///< the quick bound knows the sends between stages
    Key key() const { return {point, zero, fitting, closed}; }
    /// The least bound first; of equal ones, those of most work so far and then the first of the space.
    bool operator<(const Entry& o) const {
      if (bound != o.bound) return bound > o.bound;
      if ((fitting == kNone32) != (o.fitting == kNone32)) return fitting == kNone32;
      if (closed != o.closed) return !closed;
      if (fitting != kNone32) return fitting > o.fitting;
      return point != o.point ? point > o.point : zero > o.zero;
    }
  };

  static constexpr std::size_t kFirst = 3, kTries = 12;  ///< families of the dive that fit
  static constexpr std::size_t kGuesses = 6;  ///< usual layouts that are timed before all others are looked at

  /// Until the best of the queue is proven, or `most` are timed. False: stopped from outside.
  Result<bool> search(std::size_t most = std::numeric_limits<std::size_t>::max()) {
    while (first_knows_sends() && wanted(queue_.top()) && plan_.layouts.size() < most) {
      if (!ask_.go_on(progress())) return false;
      look_ahead();
      const Entry next = queue_.top();
      queue_.pop();
      if (next.fitting == kNone32 && tried_.contains({next.point, next.zero})) continue;
      const Status done = next.fitting == kNone32 ? fit(next) : !next.closed ? close_bound(next) : time(next);
      if (done.ok()) continue;
      if (best_ == Duration::max() || ask_.go_on(progress())) return done.error();
      queue_.push(next);  // interrupted: the best so far, with this bound among those left
      return false;
    }
    return true;
  }

  /// Times the fastest layouts with changes in keys that the space leaves out: one kind of change after the other, each
  /// on what is fastest then. Exchanges of experts decide which EP is best, so they are tried with the fastest of each.
  Status try_changes() {
    for (const PlanChange::Kind kind : {PlanChange::Kind::kExperts, PlanChange::Kind::kSplit, PlanChange::Kind::kOrder})
      for (const PlannedLayout& l : fastest_for(kind))
        for (const PlanChange& change : space_.changes_of_best) {
          if (change.kind() != kind || !change.concerns(l.layout)) continue;
          if (!ask_.go_on(progress())) return {};
          BUSBAR_RETURN_IF_ERROR(try_change(l, change));
        }
    return {};
  }

  std::vector<PlannedLayout> fastest_for(PlanChange::Kind kind) {
    constexpr std::size_t kBest = 2, kBestOfExperts = 3;
    const bool experts = kind == PlanChange::Kind::kExperts;
    sort_layouts();
    std::vector<PlannedLayout> out;
    std::set<std::uint32_t> met;
    for (const PlannedLayout& l : plan_.layouts)
      if (out.size() < (experts ? kBestOfExperts : kBest) && (!experts || met.insert(l.layout.ep).second))
        out.push_back(l);
    return out;
  }

  Status try_change(const PlannedLayout& l, const PlanChange& change) {
    workload::LayoutSpec changed = l.layout;
    if (!changed.places.contains("chunk_layers")) changed.split.chunk_layers.clear();  // as resolved
    change.apply(changed);
    Result<workload::LayoutSpec> layout = workload::resolve_layout(std::move(changed), model_, uses_[l.use].gpus);
    if (!layout.ok() || (change.split && layout->split.chunk_layers == l.layout.split.chunk_layers)) return {};
    PlannedLayout other{std::move(*layout), {}, {}, {}, l.use};
    if (!fits(other)) return {};
    BUSBAR_RETURN_IF_ERROR(raise_bound(other, *own(l.use).floors));
    Result<step::StepResult> step = own(l.use).time(other.layout);
    if (!step.ok()) return ask_.go_on(progress()) ? Status(step.error()) : Status();  // interrupted: the best so far
    other.step = std::move(*step);
    beat(other);
    plan_.layouts.push_back(std::move(other));
    ++plan_.searched;
    return {};
  }

  void sort_layouts() {
    std::stable_sort(plan_.layouts.begin(), plan_.layouts.end(), [](const PlannedLayout& a, const PlannedLayout& b) {
      return a.step.step_time < b.step.step_time;
    });
  }

  PlanProgress progress() const { return {best_, queue_.empty() ? Duration::max() : queue_.top().bound}; }

  /// Whether a layout with this bound may be faster than the best by more than the gap.
  bool may_win(Duration bound) const {
    return best_ == Duration::max() || bound.in_s() * (1 + ask_.gap) < best_.in_s();
  }

  bool wanted(const Entry& e) const {
    if (may_win(e.bound) || divisions_.size() >= ask_.rows) return may_win(e.bound);
    return e.bound.in_s() < (1 + ask_.close) * best_.in_s();
  }

  /// Raises quick bounds until that of the first entry knows its sends. False if the queue is empty.
  bool first_knows_sends() {
    while (!queue_.empty() && queue_.top().fitting == kNone32 && !queue_.top().sends) {
      Entry e = queue_.top();
      queue_.pop();
      const PlanPoint& p = points_[e.point];
      e.bound = std::max(e.bound, quick(p).of(p, e.zero, quick(p).of(p, true)));
      e.sends = true;
      queue_.push(e);
    }
    return !queue_.empty();
  }

  /// What the search learns from an entry.
  struct Look {
    Status done;           ///< errors of the bound or of the time
    bool refused = false;  ///< not a layout of this model on these GPUs
    bool fits = false;
    PlannedLayout layout{};   ///< with its bound, of an entry that had none
    Duration closed;          ///< bound of an entry that fits
    step::StepResult step{};  ///< of an entry with this bound
  };

  /// Adds the usual layouts to the queue, or all others that may win. `search`: false where only the least bound of
  /// what is left is of interest.
  Status open(bool usual, bool search) {
    const bool dives = search && best_ == Duration::max();
    std::vector<Entry> entries;
    for (std::uint32_t use = 0; use < uses_.size(); ++use) {
      for_each_of(use, [&](const PlanPoint& p) {
        if (is_usual(p, space_, own(p.use).floors->block_gpus()) == usual) add(p, entries);
      });
      std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return b < a; });
      if (dives && use == 0 && uses_.size() > 1) BUSBAR_RETURN_IF_ERROR(dive(entries, kFirst));
    }
    if (dives) {
      const Status more = dive(entries, kTries);
      if (!more.ok() && (best_ == Duration::max() || ask_.go_on(progress()))) return more;  // else: the answer so far
    }
    for (const Entry& e : entries) queue_.push(e);
    return {};
  }

  void add(const PlanPoint& p, std::vector<Entry>& entries) {
    const std::span<const std::uint32_t> degrees = zero_of(space_, model_, p);
    plan_.searched += degrees.size();
    QuickBounds& bounds = quick(p);
    const QuickBounds::Chunks& chunks = bounds.chunks_of(p);
    if (chunks.empty()) {
      plan_.refused += degrees.size();
      return;
    }
    if (!enters(bounds.mean_stage(p))) return;
    const QuickBounds::Kernels kernels = bounds.of(p);
    if (!enters(kernels.bound)) return;
    const std::array<double, 4> least = memory_.of(p, chunks);
    const std::size_t before = entries.size();
    for (const std::uint32_t zero : degrees) {
      if (least[zero] > static_cast<double>(count(ask_.capacity)))
        ++plan_.no_fit;
      else if (const Duration bound = bounds.of(p, zero, kernels); enters(bound))
        entries.push_back({bound, static_cast<std::uint32_t>(points_.size()), zero});
    }
    if (entries.size() > before) points_.push_back(p);
  }

  /// Whether a layout enters the queue; else its bound is kept.
  bool enters(Duration bound) {
    if (may_win(bound)) return true;
    left_out_ = std::min(left_out_, bound);
    return false;
  }

  /// Times one good layout first: with a time to beat the search prunes from the start, and may stop at once. It is the
  /// one with the least bound of the first that fit, one of each family. ZeRO-2 and 3 are left out, because their
  /// programs are long, but for ZeRO-2 with all of the batch in one pass.
  /// The first few are of all GPUs: then there is an answer, and a better one of any use follows. Until `most` fit.
  Status dive(const std::vector<Entry>& entries, std::size_t most) {
    constexpr std::size_t kLooks = 20'000;
    std::size_t looks = 0;
    for (const Entry& e : entries) {
      if (looks == kLooks || fitting_.size() == most) break;
      const PlanPoint& p = points_[e.point];
      const Family family{p.tp, p.pp, p.ep, p.recompute.key(), p.use};
      if (families_.contains(family)) continue;
      if (e.zero > 2 || (e.zero == 2 && (p.pp > 1 || p.dp * p.micro_batch < space_.base.batch.global))) continue;
      ++looks;
      Result<workload::LayoutSpec> layout = resolve(p, e.zero);
      if (!layout.ok()) continue;
      PlannedLayout l{std::move(*layout), {}, e.bound, {}, p.use};
      if (!fits(l)) continue;
      families_.insert(family);
      tried_.insert({e.point, e.zero});
      BUSBAR_RETURN_IF_ERROR(raise_bound(l, *own(l.use).floors));
      put_back(std::move(l));
    }
    return time_least();
  }

  Look look(const Entry& e, std::size_t thread = 0) const {
    Look out;
    const PlanWorker& worker =
        uses_[e.fitting != kNone32 ? fitting_[e.fitting].use : points_[e.point].use].workers[thread];
    if (e.fitting != kNone32 && !e.closed) {
      const PlannedLayout& l = fitting_[e.fitting];
      Result<Duration> bound = closed_step_bound(model_, l.layout, kernels_, worker.floors->machine());
      if (bound.ok())
        out.closed = *bound;
      else
        out.done = bound.error();
      return out;
    }
    if (e.fitting != kNone32) {
      Result<step::StepResult> step = worker.time(fitting_[e.fitting].layout);
      if (step.ok())
        out.step = std::move(*step);
      else
        out.done = step.error();
      return out;
    }
    Result<workload::LayoutSpec> layout = resolve(points_[e.point], e.zero);
    out.refused = !layout.ok();
    if (out.refused) return out;
    out.layout = PlannedLayout{std::move(*layout), {}, e.bound, {}, points_[e.point].use};
    out.fits = fits(out.layout);
    if (out.fits) out.done = raise_bound(out.layout, *worker.floors);
    return out;
  }

  bool known(const Entry& e) const {
    if (e.closed && fitting_[e.fitting].step.balanced > Duration()) return true;
    if (e.fitting != kNone32 && !e.closed && closed_[e.fitting]) return true;  // before its turn
    if (e.fitting != kNone32) return looks_.contains(e.key());
    return looks_.contains(e.key()) || tried_.contains({e.point, e.zero});
  }

  /// Bounds or times the next entries on all threads. The search still takes entries in the order of the queue and
  /// ignores the results that it does not need, so its decisions are those of one thread.
  void look_ahead() {
    if (ask_.others.empty() || known(queue_.top())) return;
    std::vector<Entry> ahead;
    constexpr std::size_t kEach = 8;  // layouts differ in cost: with few per thread, threads wait for each other
    for (const std::size_t most = kEach * (1 + ask_.others.size());
         ahead.size() < most && first_knows_sends() && wanted(queue_.top()); queue_.pop())
      ahead.push_back(queue_.top());
    std::vector<std::optional<Look>> looks(ahead.size());
    share_out(ahead.size(), 1 + ask_.others.size(), [&](std::size_t i, std::size_t thread) {
      if (!known(ahead[i])) looks[i] = look(ahead[i], thread);
    });
    for (std::size_t i = 0; i < ahead.size(); ++i) {
      if (looks[i]) looks_.emplace(ahead[i].key(), std::move(*looks[i]));
      queue_.push(ahead[i]);
    }
  }

  Look take_look(const Entry& e) {
    const auto node = looks_.extract(e.key());
    return node.empty() ? look(e) : std::move(node.mapped());
  }

  /// Puts the layout back with the bound of its program, if it fits.
  Status fit(const Entry& e) {
    Look found = take_look(e);
    BUSBAR_RETURN_IF_ERROR(found.done);
    if (found.refused) {
      ++plan_.refused;
    } else if (found.fits) {
      put_back(std::move(found.layout));
      if (fitting_.size() >= 8 && std::has_single_bit(fitting_.size())) return time_least();
    } else {
      ++plan_.no_fit;
      if (fitting_.empty() && (!plan_.least || count(found.layout.memory.total()) < count(plan_.least->memory.total())))
        plan_.least = std::move(found.layout);
    }
    return {};
  }

  /// To the bound of its program.
  Status raise_bound(PlannedLayout& l, CallFloors& floors) const {
    BUSBAR_ASSIGN(const Duration bound, step_bound(model_, l.layout, kernels_, floors));
    l.bound = std::max(l.bound, bound);
    return {};
  }

  /// To the bound with closed forms of its calls.
  Status close_bound(const Entry& e) {
    if (!closed_[e.fitting]) BUSBAR_RETURN_IF_ERROR(close_bound(e.fitting, take_look(e)));
    queue_.push({fitting_[e.fitting].bound, 0, 0, e.fitting, true});
    return {};
  }
  Status close_bound(std::uint32_t fitting, const Look& found) {
    BUSBAR_RETURN_IF_ERROR(found.done);
    PlannedLayout& l = fitting_[fitting];
    l.bound = std::max(l.bound, found.closed);
    closed_[fitting] = true;
    return {};
  }

  /// Times the layout with the least bound before its turn, if the bound is below that of the best, to have a time to
  /// beat while the proof is far away. Bounds of closed forms order layouts as times do: where there are any, a layout
  /// needs one.
  Status time_least() {
    const int closes = best_ == Duration::max() ? 1 : 2;  // each costs a few times as much as with floors
    for (int n = 0; n < closes; ++n) {
      const std::uint32_t least = least_of([&](std::uint32_t i) { return !closed_[i]; });
      if (least == kNone32 || fitting_[least].bound >= best_) break;
      BUSBAR_RETURN_IF_ERROR(close_bound(least, look({fitting_[least].bound, 0, 0, least, false})));
    }
    const std::uint32_t least = least_of([&](std::uint32_t i) { return closed_[i] && !is_timed(fitting_[i]); });
    if (least == kNone32 || fitting_[least].bound >= bound_of_best_) return {};
    BUSBAR_ASSIGN(fitting_[least].step, own(fitting_[least].use).time(fitting_[least].layout));
    beat(fitting_[least]);
    return {};
  }
  void beat(const PlannedLayout& timed) {
    if (timed.step.balanced >= best_) return;
    best_ = timed.step.balanced;
    bound_of_best_ = timed.bound;
  }
  /// Of the layouts for which `wanted` is true the one with the least bound; kNone32: there is none.
  template <typename F>
  std::uint32_t least_of(F wanted) const {
    std::uint32_t least = kNone32;
    for (std::uint32_t i = 0; i < fitting_.size(); ++i)
      if (wanted(i) && (least == kNone32 || fitting_[i].bound < fitting_[least].bound)) least = i;
    return least;
  }
  static bool is_timed(const PlannedLayout& l) { return l.step.balanced > Duration(); }

  void put_back(PlannedLayout l) {
    const auto place = static_cast<std::uint32_t>(fitting_.size());
    const bool closed = !has_closed_bounds(own(l.use).floors->machine());
    queue_.push({l.bound, 0, 0, place, closed});
    fitting_.push_back(std::move(l));
    closed_.push_back(closed);
  }

  /// Sets l.memory: the most of all stages, or of the first one that is too large. The first and the last stage come
  /// first: they keep most.
  bool fits(PlannedLayout& l) const {
    const std::uint32_t pp = l.layout.pp;
    for (std::uint32_t i = 0; i < pp; ++i) {
      const workload::MemoryUse use = workload::stage_memory(model_, l.layout, i == 1 ? pp - 1 : i == 0 ? 0 : i - 1);
      if (i == 0 || count(use.total()) > count(l.memory.total())) l.memory = use;
      if (count(use.total()) > count(ask_.capacity)) return false;
    }
    l.memory = workload::memory_use(model_, l.layout);
    return true;
  }

  Status time(const Entry& e) {
    const std::uint32_t i = e.fitting;
    if (fitting_[i].step.balanced == Duration()) {  // not ahead of its turn
      Look found = take_look(e);
      BUSBAR_RETURN_IF_ERROR(found.done);
      fitting_[i].step = std::move(found.step);
    }
    beat(fitting_[i]);
    divisions_.insert(division_of(fitting_[i]));
    plan_.layouts.push_back(std::move(fitting_[i]));
    fitting_[i].step.balanced = Duration();
    fitting_[i].bound = Duration::max();  // no longer here
    return {};
  }

  struct TooLarge {
    double bytes = 0;
    PlanPoint point;
    std::uint32_t zero = 0;
  };

  /// The layouts whose floors are above the memory of a GPU, those that may need least first.
  std::vector<TooLarge> too_large() {
    std::vector<TooLarge> out;
    for_each([&](const PlanPoint& p) {
      if (quick(p).of(p).bound == Duration()) return;
      const std::array<double, 4> least = memory_.of(p, quick(p).chunks_of(p));
      for (const std::uint32_t zero : zero_of(space_, model_, p))
        if (least[zero] > static_cast<double>(count(ask_.capacity))) out.push_back({least[zero], p, zero});
    });
    std::stable_sort(out.begin(), out.end(), [](const TooLarge& a, const TooLarge& b) { return a.bytes < b.bytes; });
    return out;
  }

  /// Of the layouts that were too large by their floors, those that may need less than the least so far.
  void find_least() {
    if (plan_.least) plan_.least->memory = workload::memory_use(model_, plan_.least->layout);
    for (const TooLarge& t : too_large()) {
      if (plan_.least && t.bytes >= static_cast<double>(count(plan_.least->memory.total()))) return;
      Result<workload::LayoutSpec> layout = resolve(t.point, t.zero);
      if (!layout.ok()) continue;
      const workload::MemoryUse use = workload::memory_use(model_, *layout);
      if (!plan_.least || count(use.total()) < count(plan_.least->memory.total()))
        plan_.least = PlannedLayout{std::move(*layout), use, {}, {}, t.point.use};
    }
  }

  void close() {
    const Duration left = std::min(left_out_, queue_.empty() ? Duration::max() : queue_.top().bound);
    plan_.complete = queue_.empty() || !may_win(queue_.top().bound);
    for (PlannedLayout& l : fitting_)  // those timed ahead of their turn that did not leave the queue
      if (l.step.balanced > Duration()) plan_.layouts.push_back(std::move(l));
    plan_.proven = plan_.lower_bound = std::min(best_, left);
    for (const PlannedLayout& l : plan_.layouts) plan_.lower_bound = std::min(plan_.lower_bound, l.bound);
    plan_.bounded = plan_.searched - plan_.refused - plan_.no_fit - plan_.layouts.size();
    if (!plan_.layouts.empty())
      plan_.least.reset();
    else if (plan_.complete)
      find_least();
    sort_layouts();
    drop_twins();
  }

  /// How the work is divided: CP 2 with two sequences in a micro-batch gives each GPU the tokens of CP 1 with one, and
  /// sends more.
  using Division = std::pair<std::uint32_t, std::string>;
  static Division division_of(const PlannedLayout& l) {
    workload::LayoutSpec twin = l.layout;
    const std::uint32_t shared = std::gcd(twin.cp, twin.batch.micro);
    twin.cp /= shared;
    twin.batch.micro /= shared;
    twin.dp *= shared;
    return {l.use, layout_flags(twin)};
  }

  void drop_twins() {
    std::set<Division> met;
    std::erase_if(plan_.layouts, [&](const PlannedLayout& l) { return !met.insert(division_of(l)).second; });
  }

  /// Of this thread, for layouts of a use.
  const PlanWorker& own(std::uint32_t use) const { return uses_[use].workers[0]; }
  QuickBounds& quick(const PlanPoint& p) { return *quick_[p.use]; }
  Result<workload::LayoutSpec> resolve(const PlanPoint& p, std::uint32_t zero) const {
    return workload::resolve_layout(layout_of(space_, p, zero), model_, uses_[p.use].gpus);
  }
  /// The points of one use, or of all.
  template <typename F>
  void for_each_of(std::uint32_t use, F visit) const {
    for_each_point(space_, model_, uses_[use].gpus, [&](PlanPoint p) {
      p.use = use;
      visit(p);
    });
  }
  template <typename F>
  void for_each(F visit) const {
    for (std::uint32_t use = 0; use < uses_.size(); ++use) for_each_of(use, visit);
  }

  const PlanSpace& space_;
  const workload::ModelSpec& model_;
  const workload::KernelTable& kernels_;
  const PlanAsk& ask_;
  std::vector<MachineUse> uses_;                     ///< all GPUs first
  std::vector<std::unique_ptr<QuickBounds>> quick_;  ///< of each use
  MemoryFloors memory_;
  std::vector<PlanPoint> points_;
  std::vector<PlannedLayout> fitting_;
  std::vector<bool> closed_;                                 ///< of fitting_: with closed bounds, where there are any
  std::set<std::pair<std::uint32_t, std::uint32_t>> tried_;  ///< by the dive: point and ZeRO
  using Family = std::array<std::uint32_t, 5>;               ///< TP, PP, EP, recomputation and use
  std::set<Family> families_;                                ///< that the dive tried
  std::map<Key, Look> looks_;                                ///< ahead of the queue
  std::set<Division> divisions_;                             ///< of the timed layouts
  Duration left_out_ = Duration::max();  ///< the least bound of layouts that did not enter the queue
  std::priority_queue<Entry> queue_;
  Duration best_ = Duration::max(), bound_of_best_ = Duration::max();  ///< of the fastest so far
  Plan plan_;
};

}  // namespace

Result<Plan> search_plan(const PlanSpace& space, const workload::ModelSpec& model, const workload::KernelTable& kernels,
                         CallFloors& floors, const PlanAsk& ask) {
  return Search(space, model, kernels, floors, ask).run();
}

}  // namespace busbar::plan
