#include "busbar/views/compare_steps_document.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/cost/money.h"
#include "busbar/plan/layout_flags.h"
#include "busbar/views/network_words.h"
#include "busbar/views/step_parts.h"
#include "busbar/views/token_cost.h"

namespace busbar::views {
namespace {

using questions::ComparedStep;
using questions::CompareSteps;
using Rows = std::vector<questions::CompareRow>;
constexpr double kNever = std::numeric_limits<double>::infinity();

double step_seconds_of(const questions::CompareRow& r) { return r.run.step.step_time.in_s(); }

/// The rows before `i` that it cannot be told from.
std::vector<std::size_t> alike(const Rows& rows, std::size_t i, questions::Likeness how) {
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < i; ++k)
    if (questions::likeness(rows[k], rows[i]) == how) out.push_back(k);
  return out;
}

/// "A, C to F" of ascending rows.
std::string letters_in_words(const std::vector<std::size_t>& rows) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t last = i;
    while (last + 1 < rows.size() && rows[last + 1] == rows[last] + 1) ++last;
    if (last < i + 2) last = i;
    out.push_back(questions::letter_of(rows[i]) + (last > i ? " to " + questions::letter_of(rows[last]) : ""));
    i = last + 1;
  }
  return comma_list(out);
}

std::string compare_remark(const Rows& rows, std::size_t i) {
  std::vector<std::string> out;
  if (rows[i].run.does_not_fit) out.push_back("does not fit");
  if (const auto equal = alike(rows, i, questions::Likeness::kEqual); !equal.empty())
    out.push_back("= " + letters_in_words(equal) + " by construction");
  if (const auto tie = alike(rows, i, questions::Likeness::kTie); !tie.empty())
    out.push_back("tie with " + letters_in_words(tie));
  return comma_list(out);
}

std::string range_words(const questions::CompareRow& r) {
  if (!r.transport.penalty && !r.packets) return "-";
  const double low = 100 * (r.transport.low_s / step_seconds_of(r) - 1),
               high = 100 * (r.transport.high_s / step_seconds_of(r) - 1);
  return fmt::format("{:+.1f} to {:+.1f}", low, high);
}

std::string at_least(const questions::CompareRow& r) { return r.cost.sums.complete() ? "" : "> "; }

std::string machine_price(const questions::CompareRow& r) {
  return r.cost.sums.all.high > 0 ? at_least(r) + cost::dollars(r.cost.sums.all.middle()) : "-";
}

/// At the owner's cost; at rent where a price of the purchase is missing.
std::string token_price(const questions::CompareRow& r) {
  const double middle = (r.usd_per_million_tokens_low + r.usd_per_million_tokens_high) / 2;
  if (r.cost.sums.complete()) return format_number(middle);
  const double rent = r.run.cost.usd_per_million_tokens;
  return rent > 0 ? format_number(rent) + " rent" : "-";
}

/// What a sum leaves out, by row: a machine that is only rented has no price.
std::string left_out_words(const Rows& rows) {
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const cost::BillSums& sums = rows[i].cost.sums;
    const auto add = [&](const char* what, const std::vector<std::string>& parts) {
      if (!parts.empty()) out += fmt::format(" {} has no {} of {}.", questions::letter_of(i), what, comma_list(parts));
    };
    add("price", sums.unpriced);
    add("power", sums.unpowered);
  }
  return out.empty() ? out : " >: without parts whose figure is not public." + out;
}

/// "$/M tokens rented: A 0.0737, B not known."
std::string rented_words(const Rows& rows) {
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double rent = rows[i].run.cost.usd_per_million_tokens;
    out += fmt::format("{}{} {}", i == 0 ? " $/M tokens rented: " : ", ", questions::letter_of(i),
                       rent > 0 ? format_number(rent) : "not known");
  }
  return out + ". Storage and the networks of storage and management are in no price of a purchase.";
}

report::Table step_table(const Rows& rows) {
  report::Table t{"Side by side",
                  {report::to_left(""), "step", "tokens/s/GPU", "time (%)", "transport (%)", "MFU (%)", "exposed (%)",
                   "price", "power", "$/M tokens", report::to_left("")}};
  t.changes = true;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const questions::CompareRow& r = rows[i];
    t.rows.push_back({questions::letter_of(i), format_duration(step_seconds_of(r)),
                      format_number(r.run.metrics.tokens_per_s_per_gpu),
                      i == 0 ? "-" : fmt::format("{:+.1f}", questions::percent_more_time(r, rows[0])), range_words(r),
                      fmt::format("{:.1f}", 100 * r.run.metrics.mfu),
                      fmt::format("{:.1f}", questions::exposed_percent(r)), machine_price(r),
                      cost::rating_text(r.cost.sums), token_price(r), compare_remark(rows, i)});
  }
  const std::string columns =
      "time: of a token, against A. transport: what congestion control may change of the step, by penalties measured "
      "on packets, or by other hashes of paths where its own transfers are sent as packets; -: none are known. "
      "exposed: communication that nothing hides. $/M tokens: purchase over the years "
      "and electricity; rent where a price is missing.";
  t.note = columns + rented_words(rows) + left_out_words(rows);
  return t;
}

std::string fabric_words(const questions::CompareRow& r) {
  const spec::FabricSummary& f = r.run.cluster().fabric;
  if (!r.variant.fabric.shape.empty()) return "torus of " + r.variant.fabric.shape + " chips";
  if (f.kind.empty() || f.kind == "none") return "no network";
  std::string out = fmt::format("{}, {}", f.network, f.kind);
  if (!wiring_words(f).empty()) out += " " + f.wiring;
  if (f.oversubscription != 1) out += fmt::format(" {:.3g}:1", f.oversubscription);
  if (ratio_is_idle(r.run.cluster())) out += ", " + oversubscription_words(r.run.cluster());
  if (!f.formerly.empty()) out += fmt::format(", before: {}", f.formerly);
  if (const std::string words = starved_nic_words(r.run.cluster()); !words.empty()) out += ", " + words;
  if (!r.variant.fabric.title.empty()) out += fmt::format(" ({})", r.variant.fabric.title);
  return out;
}

std::string layout_words(const questions::CompareRow& r) {
  return plan::layout_flags(r.run.layout) + (r.planned ? " (searched)" : "");
}

report::Facts key_of(const Rows& rows) {
  report::Facts key{"Key", {}};
  const bool one_layout =
      std::all_of(rows.begin(), rows.end(), [&](const auto& r) { return layout_words(r) == layout_words(rows[0]); });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const questions::CompareRow& r = rows[i];
    std::string words = fmt::format("{}, {} GPUs: {}", r.variant.machine, r.run.layout.ranks(), fabric_words(r));
    if (!r.variant.step.change.empty()) words += "; " + r.variant.step.change;
    if (!one_layout) words += "; " + layout_words(r);
    key.items.emplace_back(questions::letter_of(i), std::move(words));
  }
  if (one_layout) key.items.emplace_back("layout", layout_words(rows[0]));
  return key;
}

/// "dp: 2.1 times as long, 0 pauses (128 connections between leaves, of 2 leaves of 64)".
std::string sample_words(const questions::PacketSampleResult& s) {
  if (s.between_leaves == 0)
    return fmt::format("{}: none of {} connections of a leaf leaves it", s.purpose, s.connections);
  return fmt::format("{}: {} times as long, {:.0f} pauses ({} connections between leaves, those of {} of {} leaves)",
                     s.purpose, format_number(s.times_as_long), s.pauses, s.between_leaves, s.leaves,
                     s.leaves_of_machine);
}

/// What was sent packet by packet in row `i`.
std::string packets_words(const Rows& rows, std::size_t i) {
  const questions::PacketTimes& p = *rows[i].packets;
  std::vector<std::string> samples;
  for (const questions::PacketSampleResult& s : p.samples) samples.push_back(sample_words(s));
  if (samples.empty()) samples.emplace_back("no transfer between servers");
  return fmt::format(" {}, against even paths: {}.", questions::letter_of(i), fmt::join(samples, "; "));
}

/// What each cause adds to the step of rows before tuning; without rows where no row was simulated.
report::Table causes_table(const Rows& rows) {
  report::Table t{"Before tuning: why packets take longer",
                  {report::to_left(""), report::to_left("cause"), "adds to the step", "of the tuned step (%)",
                   "share (%)", report::to_left("")}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].packets) continue;
    for (const questions::PacketCauseResult& c : rows[i].packets->causes)
      t.rows.push_back({questions::letter_of(i), c.cause, format_duration(c.added_s), fmt::format("{:.1f}", c.percent),
                        fmt::format("{:.0f}", c.share_percent), c.title});
  }
  t.note =
      "The step's own transfers between servers, sent packet by packet on a few leaves; the slowest connection counts. "
      "Causes are taken away from the top down, and none can make the step shorter than after tuning.";
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].packets) t.note += packets_words(rows, i);
  return t;
}

template <typename Key>
std::size_t least(const Rows& rows, Key key) {
  const auto at =
      std::min_element(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return static_cast<std::size_t>(at - rows.begin());
}

/// "dgx-h100:64 (A)"; the letter alone where several rows have this machine.
std::string name_in_words(const Rows& rows, std::size_t i) {
  const auto alike = std::count_if(rows.begin(), rows.end(), [&](const questions::CompareRow& r) {
    return r.variant.machine == rows[i].variant.machine;
  });
  return alike > 1 ? questions::letter_of(i) : fmt::format("{} ({})", rows[i].variant.machine, questions::letter_of(i));
}

/// "dgx-b200:144 (B) and gb200-nvl72:16 (C)"; letters alone for many, or for several of one machine.
std::string names_in_words(const Rows& rows, const std::vector<std::size_t>& some) {
  std::vector<std::string> names;
  for (const std::size_t i : some) names.push_back(name_in_words(rows, i));
  const bool named = std::all_of(names.begin(), names.end(), [](const auto& n) { return n.ends_with(')'); });
  if (!named || names.size() > 2) return letters_in_words(some);
  return names.size() == 1 ? names[0] : names[0] + " and " + names[1];
}

bool row_fits(const questions::CompareRow& r) { return !r.run.does_not_fit; }

/// "450", or "445 to 450" where rows differ.
std::string range_of(const Rows& rows, const std::vector<std::size_t>& some,
                     double (*value)(const questions::CompareRow&), int digits) {
  double low = value(rows[some[0]]), high = low;
  for (const std::size_t i : some) low = std::min(low, value(rows[i])), high = std::max(high, value(rows[i]));
  const std::string least = format_number(low, digits), most = format_number(high, digits);
  return least == most ? most : least + " to " + most;
}

double token_rate(const questions::CompareRow& r) { return r.run.metrics.tokens_per_s_per_gpu; }
double mfu_percent(const questions::CompareRow& r) { return 100 * r.run.metrics.mfu; }

/// The cheapest tokens, and whose price may be as low; empty where a price is missing.
std::string cheapest_words(const Rows& rows) {
  const bool priced = std::all_of(rows.begin(), rows.end(), [](const auto& r) { return r.cost.sums.complete(); });
  if (!priced || rows.size() < 2) return "";
  const std::size_t cheap =
      least(rows, [](const questions::CompareRow& r) { return row_fits(r) ? r.usd_per_million_tokens_high : kNever; });
  const questions::CompareRow& c = rows[cheap];
  std::vector<std::size_t> near;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (i != cheap && row_fits(rows[i]) && rows[i].usd_per_million_tokens_low <= c.usd_per_million_tokens_high)
      near.push_back(i);
  std::string text =
      fmt::format(". {} has the cheapest tokens: ${} to ${} per million", name_in_words(rows, cheap),
                  format_number(c.usd_per_million_tokens_low), format_number(c.usd_per_million_tokens_high));
  if (!near.empty()) text += fmt::format("; those of {} may cost as little", letters_in_words(near));
  return text;
}

/// The rows that do not fit, and their time if they did.
std::string no_fit_words(const Rows& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!row_fits(rows[i]))
      text += fmt::format("{}{} does not fit; if it did, {} per step, {:.0f} % MFU", text.empty() ? "" : ". ",
                          name_in_words(rows, i), format_duration(step_seconds_of(rows[i])), mfu_percent(rows[i]));
  return text;
}

/// "Before tuning D takes 7.2 % longer: pauses 0 %, congestion control 34 %, hash collisions 66 % of that." of all rows
/// with causes.
std::string untuned_words(const Rows& rows) {
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].packets || rows[i].packets->causes.empty()) continue;
    double percent = 0;
    std::vector<std::string> shares;
    for (const questions::PacketCauseResult& c : rows[i].packets->causes) {
      percent += c.percent;
      shares.push_back(fmt::format("{} {:.0f} %", c.cause, c.share_percent));
    }
    constexpr double kNothing = 0.05;  // as it is printed
    const std::string row = questions::letter_of(i);
    out += percent < kNothing ? fmt::format(" Tuning changes nothing in {}.", row)
                              : fmt::format(" Before tuning {} takes {:.1f} % longer: {} of that.", row, percent,
                                            fmt::join(shares, ", "));
  }
  return out;
}

/// Of the rows that fit, the fastest with its ties, how far the slowest is behind, and the cheapest.
report::Highlight compare_verdict(const Rows& rows) {
  const std::string not_fitting = no_fit_words(rows);
  const auto count = static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), row_fits));
  if (count == 0) return {not_fitting + "."};
  const std::size_t fast =
      least(rows, [](const questions::CompareRow& r) { return row_fits(r) ? -token_rate(r) : kNever; });
  std::vector<std::size_t> tied;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (row_fits(rows[i]) && (i == fast || questions::likeness(rows[i], rows[fast]) != questions::Likeness::kDiffers))
      tied.push_back(i);
  std::string text = tied.size() > 1 ? fmt::format("{} tie{}: they are closer than the band of their difference",
                                                   names_in_words(rows, tied), tied.size() < count ? " for first" : "")
                     : count > 1     ? name_in_words(rows, fast) + " is the fastest"
                                     : "One step";
  const std::size_t slow =
      least(rows, [](const questions::CompareRow& r) { return row_fits(r) ? token_rate(r) : kNever; });
  const double times = token_rate(rows[fast]) / token_rate(rows[slow]);
  constexpr double kFew = 1.2;  // from here on in times
  text += fmt::format(": {} tokens/s per GPU", range_of(rows, tied, token_rate, 3));
  if (tied.size() < count)
    text += (times < kFew ? fmt::format(", {:.0f} % more than ", 100 * (times - 1))
                          : fmt::format(", {:.2g} times as many as ", times)) +
            name_in_words(rows, slow) + ";";
  else
    text += ",";
  text += fmt::format(" {} % MFU", range_of(rows, tied, mfu_percent, 3)) + cheapest_words(rows) + ".";
  return {text + (not_fitting.empty() ? "" : " " + not_fitting + ".") + untuned_words(rows)};
}

report::Bars compare_chart(const Rows& rows) {
  report::Bars bars;
  bars.title = "Where the time of a step goes";
  bars.unit = "s";
  for (std::size_t i = 0; i < rows.size(); ++i)
    bars.bars.push_back(breakdown_bar(questions::letter_of(i), rows[i].run.step.breakdown));
  return bars;
}

}  // namespace

report::Document compare_steps_document(const CompareSteps& r) {
  const Rows& rows = r.found;
  report::Document d{r.model + " side by side", {}, {}};
  d.add(compare_verdict(rows));
  d.add(step_table(rows));
  if (report::Table causes = causes_table(rows); !causes.rows.empty()) d.add(std::move(causes));
  constexpr std::size_t kFewBars = 5;  // more columns than a terminal has
  d.add(compare_chart(rows), rows.size() <= kFewBars ? report::Audience::kBoth : report::Audience::kPage);
  if (r.tokens > 0) d.add(run_table(rows, r.tokens));
  d.add(key_of(rows));
  add_batch_words(rows[0].run.layout, d);
  report::Facts commands{"Each row as a step", {}};
  for (const ComparedStep& row : r.rows)
    if (row.command) commands.items.emplace_back(row.variant, *row.command);
  if (!commands.items.empty()) d.add(std::move(commands), report::Audience::kPage);
  return d;
}

}  // namespace busbar::views
