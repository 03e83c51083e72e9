// Reports of traces with collectives.
#include <algorithm>
#include <map>
#include <tuple>

#include "busbar/base/json.h"
#include "busbar/formats/comm_groups.h"
#include "busbar/formats/internal/import_reports.h"

namespace busbar::formats {
namespace {

/// The groups that collectives name, the number of these collectives, and the groups' ranks if known.
Json groups_of(const CommTrace& t) {
  std::map<std::string, std::pair<std::uint64_t, std::uint32_t>> groups;
  for (const TracedCollective& c : t.collectives) {
    if (c.group.empty()) continue;
    auto& [times, ranks] = groups[c.group];
    ++times;
    ranks = std::max(ranks, c.ranks);
  }
  Json out = Json::array();
  for (const auto& [name, g] : groups)
    out.push_back({{"name", name}, {"collectives", g.first}, {"ranks", g.second > 0 ? Json(g.second) : Json()}});
  return out;
}

}  // namespace

ImportReport report_of(CommTrace t) {
  ImportReport report;
  Json& found = report.found;
  if (!t.version.empty()) found["version"] = t.version;
  if (t.world_size > 0) {
    found["rank"] = t.rank;
    found["world_size"] = t.world_size;
  }
  found["events"] = t.events;
  found["kinds"] = t.kinds;
  if (t.sends + t.receives > 0) {
    found["sends"] = t.sends;
    found["receives"] = t.receives;
    found["bytes_sent"] = t.bytes_sent;
  }
  if (const Json groups = groups_of(t); !groups.empty()) found["groups"] = groups;
  found["collectives"] = Json::array();
  for (const TracedCall& c : alike(t)) {
    Json j{{"what", c.what},
           {"bytes", c.bytes > 0 ? Json(c.bytes) : Json()},
           {"ranks", c.ranks > 0 ? Json(c.ranks) : Json()},
           {"times", c.times}};
    j["median_us"] = c.median_us > 0 ? Json(c.median_us) : Json();
    j["fastest_us"] = c.fastest_us > 0 ? Json(c.fastest_us) : Json();
    found["collectives"].push_back(std::move(j));
  }
  report.notes = std::move(t.notes);
  if (std::any_of(t.collectives.begin(), t.collectives.end(),
                  [](const TracedCollective& c) { return !c.group.empty() && c.ranks == 0; }))
    report.notes.push_back(
        "groups are named and their ranks are not in the trace: they are taken to be all GPUs, unless "
        "--groups tells them");
  report.unknown = std::move(t.unknown);
  return report;
}

std::vector<TracedCall> alike(const CommTrace& trace) {
  std::map<std::tuple<std::string, std::uint64_t, std::uint32_t, std::vector<std::uint32_t>, bool>,
           std::vector<const TracedCollective*>>
      by_kind;
  for (const TracedCollective& c : trace.collectives)
    by_kind[{c.op ? busbar::collectives::name_of(*c.op) : c.name, c.bytes, c.ranks, c.members, c.on_gpu}].push_back(&c);
  std::vector<TracedCall> out;
  for (const auto& [key, list] : by_kind) {
    const TracedCollective& first = *list.front();
    TracedCall call{std::get<0>(key), first.op, first.bytes, first.ranks, list.size(), 0, 0, first.members};
    std::vector<double> us;
    for (const TracedCollective* c : list)
      if (c->duration_us > 0 && c->on_gpu) us.push_back(c->duration_us);
    std::sort(us.begin(), us.end());
    if (!us.empty()) {
      call.fastest_us = us.front();
      call.median_us = us.size() % 2 == 1 ? us[us.size() / 2] : (us[us.size() / 2 - 1] + us[us.size() / 2]) / 2;
    }
    out.push_back(std::move(call));
  }
  return out;
}

Result<ImportReport> report_comm_groups(ImportSource& source) {
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(const std::vector<CommGroup> groups, read_comm_groups(text, source.name()));
  ImportReport report;
  Json& list = report.found["groups"] = Json::array();
  for (const CommGroup& g : groups)
    list.push_back({{"name", g.name}, {"ranks", g.members.size()}, {"members", g.members}});
  return report;
}

}  // namespace busbar::formats
