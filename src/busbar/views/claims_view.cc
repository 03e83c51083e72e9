// What popular texts say, next to what is computed.
#include <fmt/core.h>

#include <cmath>
#include <span>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/questions/claims_question.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::ClaimsRequest;
using questions::ClaimsResult;
using questions::ComputedClaim;

/// Whole numbers without decimals.
std::string claim_number(double value) {
  return value == std::floor(value) && value < 1e15 ? fmt::format("{:.0f}", value) : format_number(value);
}

/// "450 GB/s", "3.8 to 7.7 s"; both directions where the text counts so.
std::string computed_text(const ComputedClaim& c) {
  if (!c.computed) return c.problem.value_or("");
  const double directions = c.both_directions ? 2 : 1;
  std::string out = claim_number(*c.computed * directions);
  if (c.computed_up_to) out += " to " + claim_number(*c.computed_up_to * directions);
  if (c.unit) out += ' ' + *c.unit;
  return out + (c.both_directions ? " both ways" : "");
}

std::string verdict_text(const ComputedClaim& c) {
  return c.said_over_computed ? fmt::format("{} x{}", c.verdict, claim_number(*c.said_over_computed)) : c.verdict;
}

/// One claim in full.
report::Facts claim_facts(const ComputedClaim& c) {
  report::Facts out{c.id, {{"said", c.said}, {"computed", computed_text(c)}, {"verdict", verdict_text(c)}}};
  const auto add = [&out](const char* name, const std::string& value) {
    if (!value.empty()) out.items.emplace_back(name, value);
  };
  add("depends on", c.depends_on.value_or(""));
  add("decided by", c.decided_by.value_or(""));
  add("why", c.why.value_or(""));
  add("formula", c.formula);
  add("holds if", c.holds);
  for (const auto& [name, words] : c.terms) add(name.c_str(), words);
  return out;
}

/// The claims of one text: a table, or one claim in full.
void add_text(std::span<const ComputedClaim> claims, report::Document& d) {
  if (claims.size() == 1) {
    d.add(claim_facts(claims.front()));
    return;
  }
  report::Table out{
      claims.front().title,
      {report::to_left("claim"), report::to_left("said"), report::to_left("computed"), report::to_left("verdict")}};
  for (const ComputedClaim& c : claims) out.rows.push_back({c.id, c.said, computed_text(c), verdict_text(c)});
  d.add(std::move(out));
}

std::string summary_text(const ClaimsResult& r) {
  std::string out;
  for (const auto& [verdict, n] : r.summary) append_word(out, fmt::format("{} {}", n, verdict));
  return (r.claims.size() > 1 ? fmt::format("{} claims: ", r.claims.size()) : "") + out + ".";
}

report::Document claims_document(const ClaimsRequest&, const ClaimsResult& r) {
  report::Document d{"What popular texts say, computed", {}, {}};
  const std::span<const ComputedClaim> all = r.claims;
  for (std::size_t first = 0, next = 0; first < all.size(); first = next) {
    while (next < all.size() && all[next].text == all[first].text) ++next;
    add_text(all.subspan(first, next - first), d);
  }
  d.add(report::Highlight{summary_text(r)});
  d.add(report::Paragraph{
      "GB/s is 1e9 bytes per second in one direction; (2-way): right as a sum of both directions. 'busbar claims ID' "
      "shows the formula and commands of one claim."});
  return d;
}

}  // namespace

View claims_view() { return make_view("claims", claims_document); }

}  // namespace busbar::views
