// Machines and fabrics side by side.
#include <fmt/core.h>

#include <string>
#include <utility>
#include <variant>

#include "busbar/base/quantity.h"
#include "busbar/cost/money.h"
#include "busbar/questions/compare_question.h"
#include "busbar/views/compare_calls_document.h"
#include "busbar/views/compare_steps_document.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::CompareCalls;
using questions::CompareCrossing;
using questions::ComparedLink;
using questions::ComparedOptics;
using questions::CompareLinks;
using questions::CompareOptics;
using questions::CompareRequest;
using questions::CompareResult;
using questions::CompareSteps;

report::Document crossing_document(const questions::MachineCrossing& c) {
  report::Document d{"Where one machine catches up with the other", {}, {}};
  d.add(report::Highlight{questions::crossing_words(c)});
  report::Table t{"Tokens per second", {report::to_left(c.ask.key), c.slow, "against " + c.fast + " (%)"}};
  for (const questions::CrossingPoint& p : c.tried)
    t.rows.push_back({c.ask.words(p.value), format_number(p.tokens_per_s, 4),
                      fmt::format("{:+.1f}", 100 * (p.tokens_per_s / c.fast_tokens_per_s - 1))});
  t.note = fmt::format(
      "{} makes {} tokens per second. Each step has the layout that its flags name, or the best of a "
      "short search.",
      c.fast, format_number(c.fast_tokens_per_s, 4));
  d.add(std::move(t));
  return d;
}

std::string number_or_dash(double value) { return value > 0 ? format_number(value) : "-"; }

report::Document links_document(const CompareLinks& found) {
  report::Table t{
      "", {report::to_left("link"), "year", "GB/s per direction", "both ways", "copies reach", "times PCIe 5 x16"}};
  for (const ComparedLink& r : found.rows) {
    const bool memory = r.entry.starts_with("gpus/");
    t.rows.push_back({r.name, std::to_string(r.year), format_number(r.GBps_per_direction),
                      memory ? "-" : format_number(r.GBps_both_directions), number_or_dash(r.copies_GBps.value_or(0)),
                      format_number(r.times_pcie5_x16)});
  }
  t.note =
      "All links of one GPU, one port of a network, or the memory of one GPU, before encoding. Texts that add both "
      "directions print twice the rate. copies reach: measured, with the source in the catalogue.";
  return {"Links and memories", {}, {{std::move(t)}}};
}

report::Document optics_document(const CompareOptics& found) {
  report::Table t{"",
                  {report::to_left("part"), report::to_left("medium"), "Gb/s", "reach (m)", "power (W)", "pJ/bit",
                   report::to_left("price")}};
  for (const ComparedOptics& r : found.rows)
    t.rows.push_back({r.name, r.medium, format_number(r.rate_Gbps), number_or_dash(r.reach_m),
                      r.power_w ? format_number(*r.power_w) : "-", r.pj_per_bit ? format_number(*r.pj_per_bit) : "-",
                      r.usd_low ? fmt::format("{} {} {}", cost::dollars(spec::PriceRange{*r.usd_low, *r.usd_high}),
                                              r.sold_as == "cable" ? "a" : "an", r.sold_as)
                                : "no price"});
  t.note = "Power and energy of one end; a link has two. Co-packaged optics are in the price of their switch.";
  return {"Optics and cables", {}, {{std::move(t)}}};
}

report::Document document_of(const CompareSteps& r) { return compare_steps_document(r); }
report::Document document_of(const CompareCrossing& r) { return crossing_document(r.found); }
report::Document document_of(const CompareCalls& r) { return compare_calls_document(r); }
report::Document document_of(const CompareLinks& r) { return links_document(r); }
report::Document document_of(const CompareOptics& r) { return optics_document(r); }

report::Document compare_document(const CompareRequest&, const CompareResult& r) {
  return std::visit([](const auto& found) { return document_of(found); }, r);
}

}  // namespace

View compare_view() { return make_view("compare", compare_document); }

}  // namespace busbar::views
