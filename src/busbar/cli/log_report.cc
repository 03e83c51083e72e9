#include "busbar/cli/log_report.h"

#include <fmt/core.h>

#include <cmath>

#include "busbar/base/text.h"

namespace busbar {
namespace {

std::string words_of_cost(const LogDifference& d) {
  if (!d.cost_percent) return d.cost_of;
  const std::string most = d.most_percent ? fmt::format(", at most {:+.0f} %", *d.most_percent) : "";
  return fmt::format("{:+.0f} % time{} ({})", std::round(*d.cost_percent) + 0.0, most, d.cost_of);
}

}  // namespace

Json to_json(const LogComparison& c) {
  Json j{{"file", c.file},
         {"line", c.line},
         {"ranks", c.ranks},
         {"nodes", c.nodes},
         {"other_communicators", c.others},
         {"library", c.library},
         {"settings", c.settings},
         {"settings_without_effect", c.ignored},
         {"agrees", c.agrees},
         {"differences", Json::array()},
         {"refused", c.refused.empty() ? Json(nullptr) : Json(c.refused)}};
  for (const LogDifference& d : c.differences)
    j["differences"].push_back({{"what", d.what},
                                {"logged", d.logged},
                                {"expected", d.expected},
                                {"cause", d.cause},
                                {"cost_percent", d.cost_percent ? Json(*d.cost_percent) : Json(nullptr)},
                                {"cost_at_most_percent", d.most_percent ? Json(*d.most_percent) : Json(nullptr)},
                                {"cost_of", d.cost_of}});
  return j;
}

void add_comparison(const LogComparison& c, const std::string& cluster, Document& out) {
  if (!c.refused.empty()) {
    out.add(Paragraph{fmt::format("{} was not compared with {}: {}.", c.file, cluster, c.refused)});
    return;
  }
  const std::string head = fmt::format("{} ranks on {} node{} ({}:{}) next to {} by the rules of {}", c.ranks, c.nodes,
                                       c.nodes == 1 ? "" : "s", c.file, c.line, cluster, c.library);
  const std::string agrees = c.agrees.empty() ? "nothing" : comma_list(c.agrees);
  if (c.differences.empty()) {
    out.add(Paragraph{fmt::format("{}: no difference. Equal: {}.", head, agrees)});
    return;
  }
  out.add(Paragraph{fmt::format("{}: {} difference{}. Equal: {}.", head, c.differences.size(),
                                c.differences.size() == 1 ? "" : "s", agrees)});
  for (const LogDifference& d : c.differences) {
    Facts facts{d.what, {{"log", d.logged}, {"machine", d.expected}, {"cause", d.cause}}};
    facts.items.emplace_back("cost", words_of_cost(d));
    out.add(std::move(facts));
  }
  if (!c.ignored.empty())
    out.blocks.push_back(
        {Paragraph{fmt::format("Settings of the log without effect here: {}.", comma_list(c.ignored))}});
}

}  // namespace busbar
