#include "busbar/accuracy/fault_search.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>

#include "busbar/accuracy/internal/nuisance_fit.h"
#include "busbar/accuracy/summary.h"
#include "busbar/accuracy/table_verdict.h"
#include "busbar/base/quantity.h"
#include "busbar/topology/seen_damage.h"

namespace busbar::accuracy {
namespace {

using Times = std::vector<double>;  ///< logarithms of us, per size

constexpr double kTold = 9;            // of the sum of squares between a fault and a sound machine
constexpr double kEqual = 3;           // of the sum of squares between the times of two faults, less nuisances
constexpr double kShows = 0.03;        // smallest change of a time that can be seen
constexpr double kPerFactor = 2;       // of the sum of squares, for a fitted factor (Schwarz' criterion for 8 sizes)
constexpr double kSure = 0.8;          // of the likelihood
constexpr std::size_t kMostNamed = 4;  // faults that share a rank: more are no answer
constexpr std::size_t kRefined = 8;    // faults that are timed again, by other releases too
constexpr double kScatters = 0.25;     // standard deviation of times, as a logarithm, that no sound network has
constexpr double kRough = 1.15;        // factor between neighbouring sizes that no sound network has
constexpr double kMostMisfit = 3;      // of a fault that is named, per size: 1 is expected
constexpr double kMostOff = 0.12;  // of the logarithm of its times at large sizes: rates of links may differ by 0.08

/// Whether payloads pass host memory, or the PCIe switches and sockets between GPUs and the NIC of another. Their rate
/// is fitted.
bool passes_host(const Suspect& s) {
  return s.rule == "p2p-disabled" || s.rule == "no-gpudirect" || s.rule == "single-rail";
}

/// What a fault costs before it is fitted: rare ones need better evidence. Source: configurations that are known bad in
/// data/measured/collectives.csv, nearly all of which are faults of the whole machine.
double penalty_of(const Suspect& s, double factor) {
  constexpr double kSetting = 6, kPart = 1, kVerySlow = 6, kRarelyBelow = 0.2;
  const bool slowed = factor > 0 && factor < 1;
  double out = (slowed ? kPerFactor : 0) + (passes_host(s) ? kPerFactor : 0);
  if (s.rule == "nccl-setting") out += kSetting;
  if (!s.whole()) out += kPart + (slowed && factor < kRarelyBelow ? kVerySlow : 0);
  return out;
}

void spread(std::span<const ExpectedRow> rows, std::size_t most, std::vector<ExpectedRow>& out) {
  const std::size_t n = std::min(most, rows.size());
  for (std::size_t i = 0; i < n; ++i) out.push_back(rows[n == 1 ? rows.size() - 1 : (rows.size() - 1) * i / (n - 1)]);
}

/// Links between GPUs lose lanes, or die. Times that need less than this share of one have another cause.
bool is_likely_rate(const Suspect& s, double factor) {
  constexpr double kLeastShare = 0.2;
  const bool scale_up = s.rule == "slow-nvlink" || s.rule == "slow-gpu" || s.rule == "slow-nvswitch";
  return !scale_up || factor == 0 || factor >= kLeastShare;
}

/// The rows to fit. Large sizes tell most of a rate, so a good third of them; the others are spread evenly below.
std::vector<ExpectedRow> chosen_rows(std::span<const ExpectedRow> rows, std::uint32_t ranks) {
  const std::size_t most = ranks <= 128 ? 8 : ranks <= 1024 ? 5 : 3;
  if (rows.size() <= most) return {rows.begin(), rows.end()};
  std::size_t small = 0;
  while (rows[small].size_bytes < rows.back().size_bytes / kPlateau) ++small;
  const std::size_t large = std::min(rows.size() - small, std::max((most + 1) / 3, most - std::min(most, small)));
  std::vector<ExpectedRow> out;
  spread(rows.first(small), most - large, out);
  spread(rows.subspan(small), large, out);
  return out;
}

struct Trial {
  double factor = 1;
  Times times;
};

class Search {
 public:
  Search(std::span<const ExpectedRow> rows, const ExpectOptions& options, const NoiseModel& noise)
      : options_(options), model_(noise), all_(rows) {
    options_.policy.graphs = std::make_shared<nccl::KeptGraphs>();
  }

  Result<FaultSearchResult> run() {
    BUSBAR_RETURN_IF_ERROR(open());
    FaultSearchResult out;
    out.several_nodes = base_->topology.blocks().size() > 1;
    std::vector<Suspect> suspects = by_position(single_parts(base_->topology));
    for (Suspect& s : whole_machine_faults(*base_)) suspects.push_back(std::move(s));
    double sound = misfit(sound_);
    std::vector<Culprit> found;
    for (Suspect& s : suspects) {
      if (stops(options_.policy.stop)) return out;
      std::optional<Culprit> c = fit(s);
      if (c)
        found.push_back(std::move(*c));
      else if (!s.whole())
        out.unseen.push_back(s.part);
    }
    refine(found, sound);
    if (out.several_nodes) {
      if (auto c = fit_collapse()) found.push_back(std::move(*c));
      if (auto c = fit_scatter()) found.push_back(std::move(*c));
    }
    rank(std::move(found), sound, out);
    return out;
  }

 private:
  Status open() {
    BUSBAR_ASSIGN(base_, options_.load ? options_.load(options_.cluster, options_.overrides)
                                       : spec::load_cluster(options_.cluster, options_.overrides));
    BUSBAR_ASSIGN(const auto machine, predictor_on(options_, *base_));
    rows_ = chosen_rows(all_, machine->ranks());
    launch_us_ = machine->protocol().launch.in_us();
    for (const ExpectedRow& r : rows_) {
      measured_.push_back(std::log(r.measured_us));
      // Bands hold nine tenths of healthy machines, most of which differ from the prediction alike at all sizes.
      constexpr double kAlike = 4, kNormal = 1.645;
      noise_.push_back(std::max(model_.noise, std::log(std::max(r.high_us / r.expected_us, 1.0)) / kNormal / kAlike));
    }
    BUSBAR_ASSIGN(sound_, times(*machine));
    static constexpr double program::ProtocolModel::*kShares[] = {
        &program::ProtocolModel::share_scale_up, &program::ProtocolModel::share_server,
        &program::ProtocolModel::share_network, &program::ProtocolModel::share_switch};
    constexpr double kNudge = 0.95;
    for (const auto share : kShares) {
      spec::Cluster slower = *base_;
      slower.protocol.*share *= kNudge;
      BUSBAR_ASSIGN(const auto other, predictor_on(options_, std::move(slower)));
      BUSBAR_ASSIGN(const Times t, times(*other));
      // Nine in ten machines are in the range; values near its ends are rarer, so that a fault takes up what it
      // explains.
      constexpr double kNineInTen = 1.645;
      Nuisance n{{}, std::log(1 - model_.link_share), std::log(1 + model_.link_share), model_.link_share / kNineInTen};
      for (std::size_t i = 0; i < t.size(); ++i) n.slope.push_back((t[i] - sound_[i]) / std::log(kNudge));
      nuisances_.push_back(std::move(n));
    }
    add_curves();
    nuisances_.push_back({{}, model_.launch_low - 1, model_.launch_high - 1});
    return {};
  }

  /// Healthy machines differ from the prediction by a smooth curve below the large sizes: where they change algorithm
  /// and protocol, and how fast their bandwidth rises. Knots in steps of kPlateau, as wide as the bands are there.
  void add_curves() {
    constexpr double kNormal = 1.645, kWide = 4;  // of a band's end, as a normal quantile; least range, in widths
    const double step = std::log(static_cast<double>(kPlateau));
    const auto below = [&](std::uint64_t bytes) {  // steps below the largest size
      return std::log(static_cast<double>(rows_.back().size_bytes) / static_cast<double>(bytes)) / step;
    };
    for (double knot = 2; knot < below(rows_.front().size_bytes) + 1; ++knot) {
      Nuisance n;
      for (const ExpectedRow& r : rows_) {
        const double near = std::max(0.0, 1 - std::abs(below(r.size_bytes) - knot));
        n.slope.push_back(near);
        if (near > 0) n.width = std::max(n.width, std::log(std::max(r.high_us / r.expected_us, 1.0)) / kNormal);
      }
      n.high = kWide * n.width;
      n.low = -n.high;
      if (n.width > 0) nuisances_.push_back(std::move(n));
    }
  }

  Result<Times> times(predict::Predictor& machine) const { return times(machine, rows_); }
  Result<Times> times(predict::Predictor& machine, std::span<const ExpectedRow> rows) const {
    Times out;
    for (const ExpectedRow& r : rows) {
      BUSBAR_ASSIGN(
          const predict::Prediction p,
          machine.time(predict::call_over(options_.op, Bytes{r.size_bytes}, machine.ranks()), predict::kTimeAlone));
      out.push_back(std::log(p.time.in_us()));
    }
    return out;
  }

  /// The largest size of each algorithm.
  std::vector<ExpectedRow> row_per_algorithm() const {
    std::vector<ExpectedRow> out;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (i + 1 == rows_.size() || rows_[i].how != rows_[i + 1].how) out.push_back(rows_[i]);
    return out;
  }

  /// Equal parts of a node have different places in rings and trees: the last GPU of a chain passes nothing on. Splits
  /// classes by what a slow part costs at each place of a node.
  std::vector<Suspect> by_position(std::vector<Suspect> classes) const {
    constexpr double kProbe = 0.25;          // share of the rate
    constexpr std::size_t kMostPlaces = 16;  // in a node: racks are switched, so their places are equal
    const std::vector<ExpectedRow> rows = row_per_algorithm();
    std::vector<Suspect> out;
    for (Suspect& s : classes) {
      const std::size_t node = s.part.find('.');
      std::vector<std::string> places;
      for (const std::string& part : s.alike)
        if (node != std::string::npos && part.starts_with(s.part.substr(0, node + 1))) places.push_back(part);
      if (places.size() < 2 || places.size() > kMostPlaces) {
        out.push_back(std::move(s));
        continue;
      }
      std::vector<std::pair<Times, Suspect>> groups;
      for (const std::string& place : places) {
        Suspect one = s;
        one.part = place;
        one.slowed = {s.slowed.front().ends_with(topology::kSeen) ? place + std::string(topology::kSeen) : place};
        one.alike.clear();
        for (const std::string& part : s.alike)
          if (place_in_node(part) == place_in_node(place)) one.alike.push_back(part);
        const Times t = times_with(one, kProbe, nullptr, rows).value_or(Times());
        const auto same =
            std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return hardly_differ(g.first, t); });
        if (same == groups.end())
          groups.emplace_back(t, std::move(one));
        else
          same->second.alike.insert(same->second.alike.end(), one.alike.begin(), one.alike.end());
      }
      if (groups.size() == 1) {
        out.push_back(std::move(s));
        continue;
      }
      for (auto& [t, group] : groups) out.push_back(std::move(group));
    }
    return out;
  }
  /// "nic0" of "node1.nic0-leaf0".
  static std::string_view place_in_node(std::string_view part) {
    part.remove_prefix(std::min(part.find('.'), part.size()));
    return part.substr(0, part.find('-'));
  }
  static bool hardly_differ(const Times& a, const Times& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](double x, double y) { return std::abs(x - y) <= kShows; });
  }

  /// Empty if the machine has no such part or cannot run without it.
  std::optional<Times> times_with(const Suspect& s, double factor, const nccl::NcclVersion* release = nullptr) const {
    return times_with(s, factor, release, rows_);
  }
  std::optional<Times> times_with(const Suspect& s, double factor, const nccl::NcclVersion* release,
                                  std::span<const ExpectedRow> rows) const {
    spec::Cluster cluster = *base_;
    ExpectOptions options = options_;
    if (release != nullptr) options.policy.nccl = *release;
    if (!apply_suspect(s, factor, cluster, options.policy).ok()) return std::nullopt;
    const auto machine = predictor_on(options, std::move(cluster));
    if (!machine.ok()) return std::nullopt;
    Result<Times> out = times(**machine, rows);
    return out.ok() ? std::optional(std::move(*out)) : std::nullopt;
  }

  double misfit(const Times& predicted) const { return misfit_between(measured_, predicted); }

  double misfit_between(const Times& taken, const Times& predicted) const {
    Times error(predicted.size());
    std::vector<Nuisance> nuisances = nuisances_;
    nuisances.back().slope.clear();
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      error[i] = taken[i] - predicted[i];
      nuisances.back().slope.push_back(launch_us_ / std::exp(predicted[i]));
    }
    return least_squares(error, noise_, nuisances);
  }

  bool shows(const Times& t) const {
    for (std::size_t i = 0; i < t.size(); ++i)
      if (std::abs(t[i] - sound_[i]) > kShows) return true;
    return false;
  }

  /// The factor that fits best, between those tried. Times grow linearly with 1 / factor there.
  std::optional<Culprit> fit(const Suspect& s) {
    std::vector<Trial> trials;
    for (const double factor : s.factors)
      if (auto t = times_with(s, factor)) trials.push_back({factor, std::move(*t)});
    if (passes_host(s)) {
      const double factor = s.factors.empty() ? 1 : s.factors.front();
      if (auto t = times_with(s, factor)) trials = by_host_memory(factor, std::move(*t));
    } else if (s.factors.empty()) {
      if (auto t = times_with(s, 1)) trials.push_back({1, std::move(*t)});
    } else if (s.factors.front() < 1) {
      trials.insert(trials.begin(), {1, sound_});
    }
    if (std::none_of(trials.begin(), trials.end(), [&](const Trial& t) { return shows(t.times); })) return std::nullopt;
    Culprit best;
    Times times;
    const auto take = [&](double factor, const Times& t) {
      const double m = misfit(t) + penalty_of(s, factor);
      if (!best.faults.empty() && m >= best.misfit) return;
      best = {{s}, {factor}, {}, m};
      times = t;
    };
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (trials[i].factor == 0 || s.factors.empty()) take(trials[i].factor, trials[i].times);
      if (i + 1 < trials.size() && trials[i + 1].factor > 0) between(trials[i], trials[i + 1], take);
    }
    best.slower_percent = 100 * (std::exp(times.back() - sound_.back()) - 1);
    fitted_.push_back(std::move(times));
    return best;
  }

  /// Times with other rates of hosts, which differ more than their links do.
  std::vector<Trial> by_host_memory(double factor, Times taken) const {
    std::vector<Trial> out{{factor, taken}};
    for (const double rate : {0.5, 0.6, 0.7, 0.85, 1.2, 1.4, 1.7, 2.0}) {
      if (!shows(taken)) break;
      Times t = taken;
      for (std::size_t i = 0; i < t.size(); ++i)
        if (taken[i] - sound_[i] > kShows) t[i] = std::max(sound_[i], taken[i] - std::log(rate));
      out.push_back({factor, std::move(t)});
    }
    return out;
  }

  template <typename Take>
  void between(const Trial& a, const Trial& b, const Take& take) const {
    constexpr int kSteps = 40;
    for (int k = 0; k <= kSteps; ++k) {
      const double share = static_cast<double>(k) / kSteps;
      Times t(a.times.size());
      for (std::size_t i = 0; i < t.size(); ++i)
        t[i] = std::log((1 - share) * std::exp(a.times[i]) + share * std::exp(b.times[i]));
      take(1 / ((1 - share) / a.factor + share / b.factor), t);
    }
  }

  /// A network that is slower over a range of sizes than below it, where it is sound or slow alike at all sizes: no
  /// rate of a part does that.
  std::optional<Culprit> fit_collapse() {
    constexpr double kSlower = 2, kRange = 3;  // least factor; cost of choosing the range
    const std::size_t n = rows_.size();
    std::optional<Culprit> best;
    Times times;
    double most = 0;  // of the logarithms of bytes per us so far
    for (std::size_t from = 1; from < n; ++from) {
      const auto rate = [&](std::size_t i) {
        return std::log(static_cast<double>(rows_[i].size_bytes)) - measured_[i];
      };
      most = from == 1 ? rate(0) : std::max(most, rate(from - 1));
      if (rate(from) > most - std::log(kSlower)) continue;
      for (std::size_t to = from + 1; to <= n; ++to) {
        double inside = 0, outside = 0;
        for (std::size_t i = 0; i < n; ++i) (i >= from && i < to ? inside : outside) += measured_[i] - sound_[i];
        inside /= static_cast<double>(to - from);
        outside = std::max(0.0, outside / static_cast<double>(n - (to - from)));
        if (inside - outside < std::log(kSlower)) continue;
        Times t = sound_;
        for (std::size_t i = 0; i < n; ++i) t[i] += i >= from && i < to ? inside : outside;
        const double m = misfit(t) + 2 * kPerFactor + kRange;
        if (best && m >= best->misfit) continue;
        Suspect s{
            "fabric-misconfigured",
            fmt::format("the network collapses at {}{} (congestion, lost packets, flow "
                        "control, limit of a protocol)",
                        format_binary_size(rows_[from].size_bytes),
                        to < n ? " to " + format_binary_size(rows_[to - 1].size_bytes) : std::string(" and more")),
            "",
            {},
            {},
            {},
            {}};
        best = Culprit{{std::move(s)}, {1}, {}, m, 0, 100 * (std::exp(t.back() - sound_.back()) - 1)};
        times = std::move(t);
      }
    }
    if (best) fitted_.push_back(std::move(times));
    return best;
  }

  /// A network that loses packets now and then: neighbouring sizes take times that no curve joins. The spread is
  /// fitted, and its likelihood is that of a normal distribution of this width.
  std::optional<Culprit> fit_scatter() {
    constexpr std::size_t kLeast = 4;  // sizes that scatter
    std::optional<Culprit> best;
    Times times;
    for (std::size_t from = 0; from + kLeast <= rows_.size(); ++from) {
      const auto n = static_cast<double>(rows_.size() - from);
      double mean = 0, square = 0, width = 0;
      for (std::size_t i = from; i < rows_.size(); ++i) mean += (measured_[i] - sound_[i]) / n;
      for (std::size_t i = from; i < rows_.size(); ++i) square += std::pow(measured_[i] - sound_[i] - mean, 2) / n;
      const double spread = std::sqrt(square);
      if (mean <= 0 || spread < kScatters || turns(from) < kLeast / 2) continue;
      if (scatter(rows_[from].size_bytes) < kRough) continue;
      for (std::size_t i = from; i < rows_.size(); ++i) width += 1 + 2 * std::log(spread / noise_[i]);
      Times t = sound_;
      for (std::size_t i = from; i < t.size(); ++i) t[i] = measured_[i];
      const double m = misfit(t) + width + 2 * kPerFactor;
      if (best && m >= best->misfit) continue;
      Suspect s{"fabric-misconfigured",
                fmt::format("times of neighbouring sizes scatter from {} on (congestion, lost packets, flow control)",
                            format_binary_size(rows_[from].size_bytes)),
                "",
                {},
                {},
                {},
                {}};
      best = Culprit{{std::move(s)}, {1}, {}, m, 0, 100 * (std::exp(mean) - 1)};
      times = std::move(t);
    }
    if (best) fitted_.push_back(std::move(times));
    return best;
  }
  /// How often the times of sizes from `from` on change between being longer and shorter than their neighbours' trend.
  std::size_t turns(std::size_t from) const {
    const auto off = [&](std::size_t i) { return measured_[i] - sound_[i]; };
    std::size_t out = 0;
    for (std::size_t i = from + 1; i + 1 < rows_.size(); ++i) out += (off(i) > off(i - 1)) != (off(i + 1) > off(i));
    return out;
  }

  /// Times the best again at their factors, and all by other releases if the results do not name theirs.
  void refine(std::vector<Culprit>& found, double& sound) {
    std::vector<std::size_t> order(found.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return found[a].misfit < found[b].misfit; });
    order.resize(std::min(order.size(), kRefined));
    const Suspect none{};
    for (const nccl::NcclVersion& release : options_.releases)
      if (const auto t = times_with(none, 1, &release)) sound = std::min(sound, misfit(*t));
    for (const std::size_t at : order) {
      Culprit& c = found[at];
      const double more = penalty_of(c.faults[0], c.factors[0]);
      const bool timed = c.factors[0] == 1 || passes_host(c.faults[0]);
      if (const auto t = timed ? std::nullopt : times_with(c.faults[0], c.factors[0])) {
        fitted_[at] = *t;
        c.misfit = misfit(*t) + more;
      }
      for (const nccl::NcclVersion& release : options_.releases)
        if (const auto t = times_with(c.faults[0], c.factors[0], &release))
          c.misfit = std::min(c.misfit, misfit(*t) + more);
    }
  }

  /// Whether noise and nuisances hide the difference.
  bool equal(const Times& a, const Times& b) const { return misfit_between(a, b) < kEqual; }

  /// Of the largest sizes.
  double off(const Times& fitted) const {
    std::vector<double> out;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i].size_bytes >= rows_.back().size_bytes / kPlateau) out.push_back(measured_[i] - fitted[i]);
    return median_of(std::move(out));
  }

  /// Of neighbouring sizes from `least` bytes on, relative to the expected times, which are smooth.
  double scatter(std::uint64_t least) const {
    const auto ratio = [&](std::size_t i) { return std::log(all_[i].measured_us / all_[i].expected_us); };
    std::vector<double> steps;
    for (std::size_t i = 1; i + 1 < all_.size(); ++i)
      if (all_[i].size_bytes >= least) steps.push_back(std::abs(ratio(i) - (ratio(i - 1) + ratio(i + 1)) / 2));
    return steps.empty() ? 1 : std::exp(median_of(std::move(steps)));
  }

  /// Joins faults that the results cannot tell apart, and shares out the likelihood. If nothing fits within the noise,
  /// the noise is taken to be as large as the best fit leaves.
  void rank(std::vector<Culprit> found, double sound, FaultSearchResult& out) const {
    if (found.empty()) return;
    std::vector<std::size_t> order(found.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return found[a].misfit < found[b].misfit; });
    const double least = std::min(sound, found[order.front()].misfit);
    const double scale = std::max(1.0, least / static_cast<double>(rows_.size()));
    const auto weight = [&](double misfit) { return std::exp(-(misfit - least) / scale / 2); };
    double sum = weight(sound);
    for (const Culprit& c : found) sum += weight(c.misfit);
    std::vector<const Times*> leaders;
    for (const std::size_t at : order) {
      const auto same =
          std::find_if(leaders.begin(), leaders.end(), [&](const Times* t) { return equal(fitted_[at], *t); });
      const auto group = static_cast<std::size_t>(same - leaders.begin());
      const double share = weight(found[at].misfit) / sum;
      if (group == leaders.size()) {
        leaders.push_back(&fitted_[at]);
        found[at].off = off(fitted_[at]);
        out.ranked.push_back(std::move(found[at]));
      } else {
        out.ranked[group].faults.push_back(std::move(found[at].faults.front()));
        out.ranked[group].factors.push_back(found[at].factors.front());
      }
      out.ranked[group].confidences.push_back(share);
      out.ranked[group].confidence += share;
    }
    std::stable_sort(out.ranked.begin(), out.ranked.end(),
                     [](const Culprit& a, const Culprit& b) { return a.confidence > b.confidence; });
    const Culprit& first = out.ranked.front();
    out.sound_confidence = weight(sound) / sum;
    out.told = sound - least > kTold * scale;
    out.fits = std::min(first.misfit, sound) <= kMostMisfit * static_cast<double>(rows_.size()) &&
               (!out.told || std::abs(first.off) <= kMostOff);
    out.scatter = scatter(0);
    out.named = out.told && out.fits && first.confidence >= kSure && first.of_one_kind() &&
                first.faults.size() <= kMostNamed && is_likely_rate(first.faults.front(), first.factors.front());
  }

  ExpectOptions options_;  ///< its policy shares what NCCL searches: most suspects are hidden from it
  NoiseModel model_;
  std::span<const ExpectedRow> all_;
  std::vector<ExpectedRow> rows_;
  std::optional<spec::Cluster> base_;
  Times measured_, noise_, sound_;
  std::vector<Nuisance> nuisances_;  ///< the last is the launch, whose slope depends on the prediction
  double launch_us_ = 0;
  std::vector<Times> fitted_;  ///< per fault found
};

}  // namespace

bool Culprit::of_one_kind() const {
  return std::all_of(faults.begin(), faults.end(), [&](const Suspect& s) {
    return s.whole() ? s.rule == faults.front().rule : !faults.front().whole();
  });
}

bool is_searched(const Expectation& e, const NoiseModel& noise) {
  return e.table.verdict == Verdict::kLow || e.table.plateau_percent > 100 * noise.link_share;
}

Result<FaultSearchResult> search_faults(std::span<const ExpectedRow> expected, const ExpectOptions& options,
                                        const NoiseModel& noise) {
  return Search(expected, options, noise).run();
}

}  // namespace busbar::accuracy
