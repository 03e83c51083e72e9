#include "busbar/survive/spare_policies.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace busbar::survive {
namespace {

class SparePolicies {
 public:
  SparePolicies(const SpareTerms& terms, double confidence) : t_(terms), confidence_(confidence) {
    hot_ = t_.run;
    hot_.restart_s -= t_.saved_by_hot_s;
    in_repair_ = t_.hardware_share * t_.repair_s / t_.run.mtti_s;
  }

  std::vector<SparePolicy> all() {
    const std::uint64_t anywhere = spares_for(in_repair_, confidence_);
    add("spare servers, the job starts again", t_.run.restart_s, useful(t_.run), anywhere);
    add("spare servers that wait started", hot_.restart_s, useful(hot_), anywhere);
    add("no spares, wait for the repair", t_.run.restart_s + wait_s(), useful(t_.run) / (1 + wait_s() / t_.run.mtti_s),
        0);
    if (t_.kept_per_domain > 0)
      add_kept();
    else if (t_.domains > 1 && t_.domains < t_.servers)
      add("started spares in each domain", hot_.restart_s, useful(hot_), in_each_domain());
    if (t_.replicas > 1) {
      const double left = std::max(0.0, 1 - in_repair_ * std::max(1.0, t_.servers / t_.replicas) / t_.servers);
      add("fewer replicas until the repair", hot_.restart_s, useful(hot_) * left, 0);
      if (t_.peers_hold_state)
        add("the other replicas go on, state from a peer", hot_.restart_s - t_.load_s, from_peers() * left, 0);
    }
    std::stable_sort(out_.begin(), out_.end(),
                     [](const auto& a, const auto& b) { return a.paid_per_useful < b.paid_per_useful; });
    return std::move(out_);
  }

 private:
  double useful(const CheckpointTerms& t) const { return goodput(t, t_.interval_s).useful; }
  /// Nothing runs and nothing fails meanwhile.
  double wait_s() const { return t_.hardware_share * t_.repair_s; }
  /// No domain has more servers in repair than spares.
  std::uint64_t in_each_domain() const {
    const double each = std::pow(confidence_, 1 / t_.domains);
    return spares_for(in_repair_ / t_.domains, each) * static_cast<std::uint64_t>(t_.domains);
  }
  /// The GPUs of each domain that the layout leaves idle. Where all spares of a domain are in repair, the job waits.
  void add_kept() {
    const auto kept = static_cast<std::uint64_t>(t_.kept_per_domain * t_.domains);
    const double none_left = chance_of_more(in_repair_ / t_.domains, t_.kept_per_domain);
    const double wait = none_left * wait_s();
    add("the idle GPUs of each domain, started", hot_.restart_s + wait, useful(hot_) / (1 + wait / t_.run.mtti_s),
        kept);
  }
  /// P(Poisson(mean) >= least), with least rounded down to whole servers.
  static double chance_of_more(double mean, double least) {
    double below = 0, term = std::exp(-mean);
    for (double n = 0; n + 1 <= least; term *= mean / ++n) below += term;
    return std::max(0.0, 1 - below);
  }
  /// A failure costs the step in which it happens, and no load.
  double from_peers() const {
    const double event_s = hot_.restart_s - t_.load_s + t_.step_s;
    return t_.interval_s / (t_.interval_s + t_.run.save_s) / (1 + event_s / t_.run.mtti_s);
  }
  void add(const char* name, double restart_s, double useful, std::uint64_t spares) {
    if (useful <= 0) return;
    const double servers = t_.servers + static_cast<double>(spares);
    out_.push_back({name, restart_s, useful, spares, servers / t_.servers / useful});
  }

  const SpareTerms& t_;
  const double confidence_;
  CheckpointTerms hot_;
  double in_repair_ = 0;  ///< servers, on average
  std::vector<SparePolicy> out_;
};

}  // namespace

std::vector<SparePolicy> spare_policies(const SpareTerms& terms, double confidence) {
  return SparePolicies(terms, confidence).all();
}

}  // namespace busbar::survive
