// What failures cost: of a step over a long run, or of a collective.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/quantity.h"
#include "busbar/cost/money.h"
#include "busbar/questions/step_words.h"
#include "busbar/questions/survive_question.h"
#include "busbar/report/chart.h"
#include "busbar/report/style.h"
#include "busbar/survive/goodput.h"
#include "busbar/views/step_parts.h"
#include "busbar/views/token_prices.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::SurviveCallResult;
using questions::SurviveRequest;
using questions::SurviveResult;
using questions::SurviveStepResult;

double in_percent(double share) { return 100 * share; }
/// Two digits of what is lost: "93.4", "99.72".
std::string share_text(double share) {
  const int digits = share > 0.99 && share < 1 ? 2 : 1;
  return fmt::format("{:.{}f} %", in_percent(share), digits);
}

std::string span_text(double seconds) {
  constexpr std::pair<double, const char*> kUnits[] = {{86400, "days"}, {3600, "h"}, {60, "min"}};
  for (const auto& [size, unit] : kUnits)
    if (seconds >= 2 * size) return fmt::format("{} {}", format_number(seconds / size), unit);
  return format_duration(seconds);
}

report::Table goodput_causes(const survive::GoodputRun& r) {
  report::Table t{
      "What ends the job",
      {report::to_left("cause"), report::to_left("counted"), "parts", "per part and year", "per day", "share"}};
  for (const survive::Interruptions::Line& line : r.interruptions.lines)
    t.rows.push_back({line.cause.name, survive::name_of(line.cause.part), std::to_string(line.parts),
                      fmt::format("{:.2g} %", in_percent(line.cause.per_year)), format_number(line.per_day, 2),
                      fmt::format("{:.1f} %", in_percent(line.per_day / r.interruptions.per_day))});
  t.note = fmt::format(
      "Rates of {}; all of them {:g} to {:g} times as high in other fleets. The network, NICs included: {:.1f} %.",
      r.rates.name, r.rates.low, r.rates.high, in_percent(r.interruptions.network_per_day / r.interruptions.per_day));
  return t;
}

report::Table goodput_levers(const survive::GoodputRun& r) {
  report::Table t{"What would change it", {report::to_left("change"), "goodput", "gain per day"}};
  for (const survive::GoodputLever& l : r.levers) {
    const double gained = l.useful - r.shares.useful;
    const double usd = gained * r.usd_per_hour * survive::kHoursInDay;
    t.rows.push_back(
        {l.what, share_text(l.useful),
         usd > 0 ? cost::dollars(usd) : fmt::format("{} min", format_number(gained * survive::kHoursInDay * 60))});
  }
  return t;
}

report::Table policy_table(const survive::GoodputRun& r) {
  report::Table t{"Ways to go on after a failure, cheapest first",
                  {report::to_left("way"), "after each", "goodput", "spares", "paid hours per useful hour"}};
  if (r.usd_per_hour > 0) t.columns.push_back({"$ per useful hour"});
  for (const survive::SparePolicy& p : r.policies) {
    t.rows.push_back({p.name, span_text(p.restart_s), share_text(p.useful), std::to_string(p.spares),
                      fmt::format("{:.3f}", p.paid_per_useful)});
    if (r.usd_per_hour > 0) t.rows.back().push_back(cost::dollars(p.paid_per_useful * r.usd_per_hour));
  }
  t.note =
      "Paid: the servers of the job and its spares. goodput: steps that count, as a share of those of all servers of "
      "the "
      "job all the time. Started: spares hold the program and join without scheduling.";
  return t;
}

/// "every 12 steps, 104 s".
std::string interval_words(const survive::GoodputRun& r, double interval_s) {
  const double steps = std::round(interval_s / r.step_s);
  return fmt::format("every {:.0f} step{} ({})", steps, steps == 1 ? "" : "s", span_text(interval_s));
}

std::string run_words(const survive::GoodputRun& r, const questions::GpuHour& hour) {
  std::string out = format_number(r.run_days) + " days";
  if (r.run_usd > 0) out += fmt::format(", {} rented", cost::dollars(r.run_usd));
  if (r.run_usd > 0 && hour.rented_usd && hour.bought_low_usd && hour.bought_high_usd) {
    const double hours = r.run_usd / *hour.rented_usd;
    out += fmt::format(", {}{} bought", hour.bought_complete ? "" : "at least ",
                       cost::dollars(spec::PriceRange{hours * *hour.bought_low_usd, hours * *hour.bought_high_usd}));
  }
  return out;
}

report::Facts goodput_facts(const survive::GoodputRun& r, const questions::GpuHour& hour) {
  const double lost = 1 - r.shares.useful, mtti = r.terms.mtti_s;
  report::Facts f;
  const auto add = [&](const char* name, std::string text) { f.items.emplace_back(name, std::move(text)); };
  add("goodput",
      fmt::format("{} of the time are steps that count; {} to {} with the rates of other fleets",
                  share_text(r.shares.useful), share_text(r.at_high_rates.useful), share_text(r.at_low_rates.useful)));
  add("interruptions", fmt::format("one in {}; {} per day", span_text(mtti), format_number(r.interruptions.per_day)));
  const survive::CheckpointRun& c = r.checkpoint;
  std::string saved =
      fmt::format("{} written in {}, set by {}", format_size(c.bytes), span_text(c.write_s()), c.write_bound());
  if (r.terms.least_s > 0) saved += fmt::format(", in the background after a stop of {}", span_text(c.stop_s()));
  if (r.terms.save_s > c.stop_s())
    saved += fmt::format(" and slower steps that cost {}", span_text(r.terms.save_s - c.stop_s()));
  std::string every = fmt::format("best {}, by Daly ({} by Young)", interval_words(r, r.best_s), span_text(r.young_s));
  if (r.interval_s != r.best_s) every = fmt::format("every {}, as asked; {}", span_text(r.interval_s), every);
  add("checkpoint", fmt::format("{}; {}", saved, every));
  if (const survive::FailoverCost& f = r.failover; f.per_day > 0)
    add("failover",
        fmt::format("{} a day of the network do not end the job: {} of pause each, then steps up to {} % longer "
                    "until the repair, {} of the time",
                    format_number(f.per_day, 2), span_text(f.pause_s), format_number(in_percent(f.slow_step), 2),
                    share_text(f.out_share)));
  add("after each",
      fmt::format("{} to detect, {} to restart, {} to load, and {} of work again, on average", span_text(r.detect_s),
                  span_text(r.restart_s), span_text(c.load_s()), span_text(r.shares.rework * mtti)));
  std::string lost_text =
      fmt::format("{}: saving {}, restarts {}, work again {}", share_text(lost), share_text(r.shares.checkpoint),
                  share_text(r.shares.restart), share_text(r.shares.rework));
  if (r.shares.slower > 0) lost_text += fmt::format(", slower steps {}", share_text(r.shares.slower));
  if (r.usd_per_hour > 0)
    lost_text += fmt::format("; {} a day", cost::dollars(lost * r.usd_per_hour * survive::kHoursInDay));
  add("lost", lost_text);
  if (r.usd_per_hour > 0) add("money", "All prices here are rent. " + bought_words(hour));
  if (const survive::SpareCubes& c = r.cubes; c.cubes > 0) {
    std::string event = fmt::format(
        "{} a day: {} to switch the optical ways to a spare cube, {} for the links to start again, {} in all with "
        "detection, restart and work again",
        format_number(c.per_day, 2), format_duration(c.switching_s), span_text(c.initialisation_s),
        span_text(c.event_s));
    if (r.usd_per_hour > 0)
      event += fmt::format(", {} each", cost::dollars(c.event_s / survive::kSecondsInHour * r.usd_per_hour));
    add("a cube fails", event);
    add("spare cubes", fmt::format("{} in addition to the {} of the job suffice 99 % of the time", c.spares, c.cubes));
  }
  const double servers = static_cast<double>(r.parts[static_cast<std::size_t>(survive::FailingPart::kServer)]);
  add("spare servers", fmt::format("{} ({} %) suffice 99 % of the time; {} are in repair on average", r.spares,
                                   format_number(in_percent(static_cast<double>(r.spares) / servers), 2),
                                   format_number(r.in_repair, 2)));
  if (r.slow_chance > 0)
    add("slow servers",
        fmt::format("chance of having one: {:.3g} %; the step then takes {} % longer; not counted above",
                    in_percent(r.slow_chance), format_number(in_percent(r.slow_step_s / r.step_s - 1), 2)));
  if (r.run_days > 0) add("whole run", run_words(r, hour));
  return f;
}

report::Highlight goodput_in_words(const survive::GoodputRun& r) {
  std::string text = fmt::format("{} of the time are steps that count. ", share_text(r.shares.useful));
  text += fmt::format("A failure ends the job every {}", span_text(r.terms.mtti_s));
  text += fmt::format("; save a checkpoint every {}.", span_text(r.interval_s));
  text += fmt::format(" Cheapest: {}.", r.policies.front().name);
  if (r.usd_per_hour > 0)
    text += fmt::format(" What is lost costs {} a day.",
                        cost::format_money((1 - r.shares.useful) * r.usd_per_hour * survive::kHoursInDay));
  return {text};
}

/// A waterfall: from all of the time down to steps that count.
report::Drawing draw_goodput(const survive::GoodputRun& r) {
  struct Step {
    const char* name;
    double share;
    int colour;
  };
  const Step steps[] = {{"saving checkpoints", r.shares.checkpoint, report::colour::kOptimizer},
                        {"restarts", r.shares.restart, report::colour::kTp},
                        {"work done again", r.shares.rework, report::colour::kPp},
                        {"slower steps", r.shares.slower, report::colour::kCp},
                        {"steps that count", r.shares.useful, report::colour::kDp}};
  constexpr double kLeft = 170, kRight = 90, kRow = 30, kBar = 20, kWide = 760;
  const double lost = std::max(1e-4, 1 - r.shares.useful), low = std::max(0.0, 1 - 1.15 * lost);
  const auto x = [&](double share) {
    return kLeft + (std::max(share, low) - low) / (1 - low) * (kWide - kLeft - kRight);
  };
  report::Drawing d{"Where the time goes", "From all of the time down to the steps that count.", kWide, 0, {}, {}};
  double at = 1, y = 4;
  for (const Step& s : steps) {
    const bool rest = &s == &steps[4];
    report::Shape name{report::Shape::Kind::kText, kLeft - 10, y + kBar / 2};
    name.text = s.name;
    name.anchor = report::Anchor::kEnd;
    name.size = 13;
    const double from = rest ? low : at - s.share;
    report::Shape bar{report::Shape::Kind::kRect, x(from), y, std::max(1.0, x(at) - x(from)), kBar, s.colour};
    bar.text = fmt::format("{}: {}", s.name, share_text(s.share));
    report::Shape value = name;
    value.x = x(at) + 8;
    value.text = share_text(s.share);
    value.anchor = report::Anchor::kStart;
    for (report::Shape* shape : {&name, &bar, &value}) d.shapes.push_back(std::move(*shape));
    at -= s.share;
    y += kRow;
  }
  d.height = y;
  d.note = low > 0 ? fmt::format("The picture begins at {}.", share_text(low)) : "";
  return d;
}

/// What is lost by how often a checkpoint is saved.
report::Drawing draw_intervals(const survive::GoodputRun& r) {
  report::Chart c;
  c.title = "What is lost, by the time between checkpoints";
  c.description = fmt::format("Least at {}.", span_text(r.best_s));
  c.x = {"time between checkpoints", report::AxisUnit::kSeconds, true};
  c.y = {r.usd_per_hour > 0 ? "lost ($ a day)" : "lost (%)", report::AxisUnit::kNumber};
  const double scale = r.usd_per_hour > 0 ? r.usd_per_hour * survive::kHoursInDay : 100;
  const auto lost_at = [&](double interval_s) {
    const double lost = 1 - survive::goodput(r.terms, interval_s).useful;
    return report::ChartPoint{interval_s, lost * scale,
                              fmt::format("{}: {} lost", span_text(interval_s), share_text(lost))};
  };
  report::ChartSeries curve{"lost", report::colour::kCompute, {}, true, false},
      best{"least", report::colour::kDp, {lost_at(r.best_s)}, false, true};
  for (double f = 1.0 / 8; f <= 8.001; f *= std::pow(2.0, 0.25))
    if (r.best_s * f >= std::max(r.step_s, r.terms.save_s)) curve.points.push_back(lost_at(r.best_s * f));
  c.series = {std::move(curve), std::move(best)};
  if (r.interval_s != r.best_s)
    c.series.push_back({"as asked", report::colour::kTp, {lost_at(r.interval_s)}, false, true});
  return r.best_s > 0 ? report::draw_chart(c) : report::Drawing{};
}

report::Facts rate_sources(const survive::GoodputRun& r) {
  report::Facts f{"Sources of the failure rates", {}};
  for (const survive::Interruptions::Line& line : r.interruptions.lines)
    f.items.emplace_back(line.cause.name, line.cause.source);
  if (!r.rates.range_source.empty()) f.items.emplace_back("range", r.rates.range_source);
  return f;
}

std::vector<report::DocumentBlock> goodput_blocks(const survive::GoodputRun& r, const questions::GpuHour& hour) {
  std::vector<report::DocumentBlock> out{{goodput_in_words(r), report::Audience::kPage},
                                         {draw_goodput(r), report::Audience::kPage},
                                         {goodput_facts(r, hour)},
                                         {goodput_causes(r)}};
  if (!r.levers.empty()) out.push_back({goodput_levers(r)});
  if (report::Drawing d = draw_intervals(r); !d.shapes.empty()) out.push_back({std::move(d), report::Audience::kPage});
  out.push_back({policy_table(r)});
  out.push_back({rate_sources(r), report::Audience::kPage});
  return out;
}

constexpr double kSame = 0.05;  // percent: below, the table says that nothing changes

std::string loss_cost_text(const survive::PartLoss& l) {
  if (!l.time_s) return "-";
  return std::abs(l.cost_percent) < kSame ? "0" : fmt::format("{:+.1f} %", l.cost_percent);
}

std::string after_loss_text(const survive::PartLoss& l) {
  if (!l.time_s) return l.state == survive::PartState::kOut ? "ends, restarts on a spare server" : l.why_not;
  if (l.switch_off) return "switch it off";
  if (l.state == survive::PartState::kHalfRate) return "runs on";
  return l.part.ends_job ? "ends, restarts without it" : "runs on over other paths";
}

std::string switch_off_words(const survive::PartLosses& r) {
  const auto off = std::find_if(r.rows.begin(), r.rows.end(), [](const survive::PartLoss& l) { return l.switch_off; });
  if (off == r.rows.end()) return "";
  return fmt::format("Switch off a {} at half rate: with it the {} takes {}, without it {}.", off->part.what, r.what,
                     format_duration(*off->time_s), format_duration(off->without_s));
}

std::vector<report::DocumentBlock> losses_blocks(const survive::PartLosses& r) {
  report::Table t{
      fmt::format("Without one part, or with it at half rate ({} now {})", r.what, format_duration(r.sound_s)),
      {report::to_left("kind"), report::to_left("such as"), "alike", report::to_left("state"), "time", "cost"}};
  const bool priced = !r.rows.empty() && r.rows.front().lost_h;
  if (priced) t.columns.push_back({"lost (h)"});
  t.columns.push_back(report::to_left("the job"));
  for (const survive::PartLoss& l : r.rows) {
    t.rows.push_back({l.part.what, l.selector, std::to_string(l.part.alike), survive::name_of(l.state),
                      l.time_s ? format_duration(*l.time_s) : "-", loss_cost_text(l)});
    if (priced) t.rows.back().push_back(format_number(*l.lost_h, 2));
    t.rows.back().push_back(after_loss_text(l));
  }
  if (priced)
    t.note =
        "Lost: hours of work by one such event: stop and work again if it ends the job, then the slower state until "
        "the repair.";
  std::vector<report::DocumentBlock> out;
  if (std::string verdict = switch_off_words(r); !verdict.empty())
    out.push_back({report::Paragraph{std::move(verdict)}});
  out.push_back({std::move(t)});
  return out;
}

void add_blocks(std::vector<report::DocumentBlock> blocks, report::Document& d) {
  for (report::DocumentBlock& b : blocks) d.blocks.push_back(std::move(b));
}

report::Document survive_step_document(const SurviveRequest& asked, const SurviveStepResult& r) {
  const step::TrainRun& step = r.step;
  report::Document d{"What failures cost " + step.scenario.model.name + " on " + step.cluster().name, {}, {}};
  if (!r.fits) d.add(step_highlight(step));
  if (!step.planned_because.empty() && r.fits)
    d.add(report::Paragraph{"Planned, because " + step.planned_because + ": " + step.planned_flags});
  add_batch_words(step.layout, d);
  std::vector<report::DocumentBlock> blocks = goodput_blocks(r.run, r.gpu_hour);
  for (report::DocumentBlock& b : blocks)
    if (b.audience == report::Audience::kPage && asked.explain) b.audience = report::Audience::kBoth;
  add_blocks(std::move(blocks), d);
  if (r.losses) add_blocks(losses_blocks(*r.losses), d);
  return d;
}

report::Document survive_call_document(const SurviveCallResult& r) {
  return {"What lost parts cost on " + r.cluster, {}, losses_blocks(r.losses)};
}

report::Document survive_document(const SurviveRequest& asked, const SurviveResult& r) {
  const auto* const step = std::get_if<SurviveStepResult>(&r);
  return step != nullptr ? survive_step_document(asked, *step) : survive_call_document(std::get<SurviveCallResult>(r));
}

}  // namespace

View survive_view() { return make_view("survive", survive_document); }

}  // namespace busbar::views
