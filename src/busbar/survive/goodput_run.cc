#include "busbar/survive/goodput_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"

namespace busbar::survive {
namespace {

constexpr double kConfidence = 0.99;  // that spares suffice

Error in_field(const char* field, std::string message) { return invalid(std::move(message), {"", 0, 0, field}); }

Result<double> seconds_of(const char* field, const std::string& text) {
  const Result<Duration> d = parse_duration(text);
  if (!d.ok() || *d < Duration())
    return in_field(field, fmt::format("'{}' is not a time; write for example 300s", text));
  return d->in_s();
}

/// "15T", "300B", "2e12".
Result<double> read_tokens(const std::string& text) {
  constexpr std::pair<char, double> kUnits[] = {{'T', 1e12}, {'B', 1e9}, {'M', 1e6}};
  double factor = 1, tokens = 0;
  std::string number = text;
  for (const auto& [letter, size] : kUnits) {
    if (text.back() != letter) continue;
    factor = size;
    number.pop_back();
  }
  if (is_number(number, tokens) && tokens * factor >= 1 && tokens * factor < 1e18) return tokens * factor;
  return in_field("tokens", fmt::format("'{}' is not a number of tokens; write for example 15T or 300B", text));
}

class GoodputMaker {
 public:
  GoodputMaker(const step::TrainRun& run, const GoodputAsk& ask) : run_(run), ask_(ask) {}

  Result<GoodputRun> make(const spec::Catalog& catalog) {
    Result<FailureRates> rates = read_failure_rates(ask_.failures, catalog);
    if (!rates.ok() && rates.error().where.prefix().empty()) rates.error().where.path = "failures";
    BUSBAR_ASSIGN(out_.rates, std::move(rates));
    out_.parts = count_parts(run_.cluster());
    take_spares_out();
    out_.step_s = run_.step.step_time.in_s();
    if (ask_.failover) BUSBAR_RETURN_IF_ERROR(read_failover());
    out_.interruptions = interruptions_of(out_.rates, out_.parts);
    if (out_.interruptions.per_day <= 0)
      return in_field("failures", "nothing of this machine fails; give a cause that counts gpu or server");
    read_cubes();
    BUSBAR_RETURN_IF_ERROR(read_recovery());
    BUSBAR_RETURN_IF_ERROR(read_checkpoint());
    out_.shares = with_pauses(goodput(out_.terms, out_.interval_s));
    out_.at_low_rates = with_rates(out_.rates.low);
    out_.at_high_rates = with_rates(out_.rates.high);
    count_spares();
    BUSBAR_RETURN_IF_ERROR(slow_servers());
    add_levers();
    add_policies();
    BUSBAR_RETURN_IF_ERROR(add_money());
    return std::move(out_);
  }

 private:
  double servers() const { return static_cast<double>(out_.parts[static_cast<std::size_t>(FailingPart::kServer)]); }

  /// GPUs that the layout leaves idle, with their servers and NICs, end no job.
  void take_spares_out() {
    const std::uint64_t used = run_.machine->ranks(), all = run_.cluster().topology.gpus().size();
    if (run_.settings.gpus_per_domain == 0) return;
    const double servers_before = servers();
    for (const FailingPart part : {FailingPart::kGpu, FailingPart::kServer, FailingPart::kNic}) {
      std::uint64_t& n = out_.parts[static_cast<std::size_t>(part)];
      n = (n * used + all - 1) / all;
    }
    kept_per_domain_ = (servers_before - servers()) / domains();
  }
  double domains() const {
    return static_cast<double>(std::max<std::size_t>(1, run_.cluster().topology.blocks().size()));
  }

  void read_cubes() {
    const spec::OpticalSwitches& ocs = run_.cluster().ocs;
    if (ocs.switches == 0) return;
    const auto chips = static_cast<std::uint64_t>(run_.machine->ranks());
    out_.cubes.cubes = (chips + ocs.chips_in_cube() - 1) / ocs.chips_in_cube();
    out_.cubes.switching_s = ocs.switching.in_s();
    out_.cubes.initialisation_s = ocs.initialisation.in_s();
    out_.cubes.per_day = out_.interruptions.hardware_per_day;
  }

  /// Causes of the network leave the list of what ends the job.
  Status read_failover() {
    const auto parts = [&](FailingPart p) { return static_cast<double>(out_.parts[static_cast<std::size_t>(p)]); };
    const double nics = parts(FailingPart::kNic) / std::max(1.0, parts(FailingPart::kServer));
    if (nics < 2) return in_field("failover", "needs servers with several NICs: nothing else joins them");
    out_.failover.per_day = interruptions_of(out_.rates, out_.parts).network_per_day;
    out_.failover.out_share = -std::expm1(-out_.failover.per_day * ask_.repair_hours / kHoursInDay);
    std::erase_if(out_.rates.causes, [](const FailureCause& c) { return c.network; });
    const topology::Topology& t = run_.cluster().topology;
    lowering::WhatIf less;
    for (const topology::DeviceId s : t.fabric_switches())
      for (const topology::LinkId l : t.out_links(s))
        if (t.kind(t.to(l)) == topology::DeviceKind::kNic) less.link_classes.push_back(t.link_class_index(l));
    std::sort(less.link_classes.begin(), less.link_classes.end());
    less.link_classes.erase(std::unique(less.link_classes.begin(), less.link_classes.end()), less.link_classes.end());
    less.rate_factor = 1 - 1 / nics;  // the ring of all servers is as slow as that of the server without the NIC
    BUSBAR_ASSIGN(const Duration step, step::step_if(run_, less));
    out_.failover.slow_step = std::max(0.0, step.in_s() / out_.step_s - 1);
    return {};
  }

  /// Adds pauses and slower steps of failures of the network, and steps after unnoticed corruption.
  Goodput with_pauses(Goodput g) const {
    const FailoverCost& f = out_.failover;
    const double slower = f.per_day * f.pause_s / kSecondsInDay + f.out_share * f.slow_step;
    const double wrong = out_.interruptions.silent_per_day * out_.silent_s / kSecondsInDay;
    const double all = 1 + g.useful * (slower + wrong);
    g.slower = g.useful * slower;
    g.rework += g.useful * wrong;
    for (double* share : {&g.useful, &g.checkpoint, &g.restart, &g.rework, &g.slower}) *share /= all;
    return g;
  }

  Status read_recovery() {
    BUSBAR_ASSIGN(const double crash, seconds_of("detect", ask_.detect));
    BUSBAR_ASSIGN(const double watchdog, seconds_of("watchdog", ask_.watchdog));
    BUSBAR_ASSIGN(out_.restart_s, seconds_of("restart", ask_.restart));
    BUSBAR_ASSIGN(hot_restart_s_, seconds_of("hot_restart", ask_.hot_restart));
    BUSBAR_ASSIGN(out_.silent_s, seconds_of("silent_after", ask_.silent_after));
    out_.failover.pause_s = crash;
    const double waiting = out_.interruptions.waiting_per_day / out_.interruptions.per_day;
    out_.detect_s = crash + waiting * std::max(0.0, watchdog - crash);
    crash_s_ = crash;
    return {};
  }

  Status read_checkpoint() {
    constexpr double kMostRepairHours = 24 * 365;
    if (ask_.repair_hours > kMostRepairHours)
      return in_field("repair_hours", fmt::format("is at most {}, a year", kMostRepairHours));
    BUSBAR_ASSIGN(out_.checkpoint, run_checkpoint(run_, ask_.checkpoint));
    out_.terms = terms_of(out_.checkpoint.async, 1, out_.detect_s, out_.restart_s, 1);
    out_.young_s = young_interval(out_.terms);
    out_.interval_s = out_.best_s = best_interval(out_.terms);
    if (ask_.interval.empty()) return {};
    BUSBAR_ASSIGN(out_.interval_s, seconds_of("interval", ask_.interval));
    if (out_.interval_s <= 0) return in_field("interval", "is not above 0");
    if (out_.interval_s >= out_.terms.least_s) return {};
    return in_field("interval", fmt::format("a checkpoint takes {} to write in the background; write at least that",
                                            format_duration(out_.terms.least_s)));
  }

  /// `faster`: factor on the rate of the storage; `rates`: on all failures.
  CheckpointTerms terms_of(bool async, double faster, double detect_s, double restart_s, double rates) const {
    const CheckpointRun& c = out_.checkpoint;
    CheckpointTerms t;
    t.mtti_s = kSecondsInDay / (out_.interruptions.per_day * rates);
    t.save_s = c.lost_s(async, faster);
    t.restart_s = detect_s + restart_s + c.load_s(faster) + exchange_s();
    if (async) t.least_s = c.write_s(faster);
    return t;
  }
  /// Optical switches connect a spare cube where hardware failed: the mean over all failures.
  double exchange_s() const {
    const SpareCubes& c = out_.cubes;
    return (c.switching_s + c.initialisation_s) * c.per_day / out_.interruptions.per_day;
  }
  CheckpointTerms terms(double rates) const {
    return terms_of(out_.checkpoint.async, 1, out_.detect_s, out_.restart_s, rates);
  }
  double best_interval(const CheckpointTerms& t) const { return whole_steps(daly_interval(t), out_.step_s, t.least_s); }
  /// The interval as asked for, or the best one for these terms.
  double useful(const CheckpointTerms& t) const { return shares(t).useful; }
  Goodput shares(const CheckpointTerms& t) const {
    return with_pauses(goodput(t, ask_.interval.empty() ? best_interval(t) : std::max(t.least_s, out_.interval_s)));
  }
  Goodput with_rates(double factor) const { return shares(terms(factor)); }

  void count_spares() {
    out_.in_repair = out_.interruptions.hardware_per_day * ask_.repair_hours / kHoursInDay;
    out_.spares = spares_for(out_.in_repair, kConfidence);
    SpareCubes& c = out_.cubes;
    if (c.cubes == 0) return;
    c.spares = out_.spares;  // one failed host takes its whole cube out
    c.event_s = out_.detect_s + c.switching_s + c.initialisation_s + out_.restart_s + out_.checkpoint.load_s(1) +
                out_.shares.rework * out_.terms.mtti_s;
  }

  Status slow_servers() {
    const Result<step::Stragglers> slow = step::parse_stragglers(ask_.slow_servers);
    if (!slow.ok())
      return in_field("slow_servers",
                      fmt::format("'{}' is not PERCENT%xFACTOR, for example 0.5%x1.1", ask_.slow_servers));
    out_.slow_chance = chance_of_any(slow->chance, static_cast<std::uint64_t>(servers()));
    workload::LayoutSpec layout = run_.layout;
    layout.straggler.speed = run_.layout.straggler.speed / slow->factor;
    layout.straggler.stage = std::min(index(run_.step.critical_role), layout.pp - 1);
    BUSBAR_ASSIGN(const step::StepResult step, step::step_with(run_, layout));
    out_.slow_step_s = step.step_time.in_s();
    return {};
  }

  void add_levers() {
    constexpr double kStorage = 10, kTelemetry_s = 30;
    const auto add = [&](std::string what, const CheckpointTerms& t) {
      if (const double u = useful(t); u > out_.shares.useful) out_.levers.push_back({std::move(what), u});
    };
    const bool async = out_.checkpoint.async;
    const double storage = out_.checkpoint.store_bytes_per_s;
    if (!async) add("checkpoints in the background (--async)", terms_of(true, 1, out_.detect_s, out_.restart_s, 1));
    if (storage > 0)
      add(fmt::format("storage 10 times as fast, {}", format_rate(kStorage * storage)),
          terms_of(async, kStorage, out_.detect_s, out_.restart_s, 1));
    add("hangs are detected after 30 s", terms_of(async, 1, std::min(crash_s_, kTelemetry_s), out_.restart_s, 1));
    add("restart in half the time", terms_of(async, 1, out_.detect_s, out_.restart_s / 2, 1));
    add("half as many failures", terms(0.5));
    std::stable_sort(out_.levers.begin(), out_.levers.end(),
                     [](const GoodputLever& a, const GoodputLever& b) { return a.useful > b.useful; });
  }

  void add_policies() {
    const workload::LayoutSpec& l = run_.layout;
    SpareTerms t;
    t.run = out_.terms;
    t.interval_s = out_.interval_s;
    t.step_s = out_.step_s;
    t.detect_s = out_.detect_s;
    t.saved_by_hot_s = std::max(0.0, out_.restart_s - hot_restart_s_);
    t.load_s = out_.checkpoint.load_s();
    t.hardware_share = out_.interruptions.hardware_per_day / out_.interruptions.per_day;
    t.repair_s = ask_.repair_hours * kSecondsInHour;
    t.servers = servers();
    t.domains = domains();
    t.kept_per_domain = kept_per_domain_;
    t.replicas = l.dp;
    t.peers_hold_state = l.dp > 1 && (l.sharding.zero == 0 || l.shard_copies() > 1);
    out_.policies = spare_policies(t, kConfidence);
  }

  Status add_money() {
    const double usd = ask_.usd_per_gpu_hour > 0 ? ask_.usd_per_gpu_hour : run_.cluster().usd_per_gpu_hour;
    out_.usd_per_hour = usd * run_.gpus_with_spares(run_.machine->ranks());
    if (ask_.tokens.empty()) return {};
    BUSBAR_ASSIGN(const double tokens, read_tokens(ask_.tokens));
    const double per_step = static_cast<double>(run_.layout.batch.global) * static_cast<double>(run_.layout.batch.seq);
    const double seconds = tokens / per_step * out_.step_s / out_.shares.useful;
    out_.run_days = seconds / kSecondsInDay;
    out_.run_usd = seconds / kSecondsInHour * out_.usd_per_hour;
    return {};
  }

  const step::TrainRun& run_;
  const GoodputAsk& ask_;
  GoodputRun out_;
  double crash_s_ = 0, hot_restart_s_ = 0;
  double kept_per_domain_ = 0;  ///< servers
};

}  // namespace

Result<GoodputRun> run_goodput(const step::TrainRun& run, const GoodputAsk& ask, const spec::Catalog& catalog) {
  return GoodputMaker(run, ask).make(catalog);
}

}  // namespace busbar::survive
