// Reports of logs and tables of results.
#include <fmt/core.h>

#include "busbar/base/json.h"
#include "busbar/formats/internal/import_reports.h"
#include "busbar/formats/lines.h"
#include "busbar/formats/nccl_log.h"
#include "busbar/formats/nccl_tuner.h"
#include "busbar/formats/perf_table.h"

namespace busbar::formats {
namespace {

Json texts(const std::vector<LoggedText>& list) {
  Json out = Json::array();
  for (const LoggedText& t : list) out.push_back({{"text", t.text}, {"count", t.count}, {"line", t.line}});
  return out;
}

Json timing(const std::optional<PerfTiming>& t) {
  if (!t) return nullptr;
  Json j{{"time_us", t->time_us}, {"algbw_GBps", t->algbw_GBps}, {"busbw_GBps", t->busbw_GBps}};
  if (t->wrong) j["wrong"] = *t->wrong;
  return j;
}

ImportReport describe(PerfResults results) {
  ImportReport report;
  Json tables = Json::array();
  for (const PerfTable& t : results.tables) {
    Json j{{"collective", t.collective.empty() ? Json(nullptr) : Json(t.collective)},
           {"ranks", t.ranks.empty() ? t.rank_count : static_cast<int>(t.ranks.size())}};
    if (!t.version.empty()) j["version"] = t.version;
    if (!t.library.empty()) j["nccl"] = t.library;
    if (!t.settings.empty()) j["settings"] = t.settings;
    if (!t.ranks.empty()) j["product"] = t.ranks.front().product;
    if (t.average_busbw_GBps) j["average_busbw_GBps"] = *t.average_busbw_GBps;
    if (!t.out_of_bounds.empty()) j["out_of_bounds"] = t.out_of_bounds;
    j["rows"] = Json::array();
    for (const PerfRow& r : t.rows)
      j["rows"].push_back({{"size_bytes", r.size_bytes},
                           {"count", r.count},
                           {"type", r.type},
                           {"op", r.op.empty() ? Json(nullptr) : Json(r.op)},
                           {"root", r.root},
                           {"out_of_place", timing(r.out_of_place)},
                           {"in_place", timing(r.in_place)}});
    tables.push_back(std::move(j));
  }
  report.found["tables"] = tables;
  report.found["other_lines"] = results.other_lines;
  report.unknown = std::move(results.unknown);
  return report;
}

/// Sends as [channel, NIC, rank next to the NIC]; with PXN this is another rank. Trees as NCCL writes them, by channel.
Json member(int rank, const LoggedRank& r) {
  Json j{{"rank", rank}, {"host", r.host}};
  if (r.cuda_device >= 0) j["cuda_device"] = r.cuda_device;
  if (!r.bus_id.empty()) j["bus_id"] = r.bus_id;
  Json sends = Json::array();
  bool bounce = false;
  for (const LoggedNic& n : r.sends) {
    sends.push_back(Json::array({n.channel, n.device, n.proxy}));
    bounce = bounce || !n.gpudirect;
  }
  if (!r.sends.empty()) {
    j["sends_channel_nic_rank"] = std::move(sends);
    j["gpudirect"] = !bounce;
  }
  Json trees = Json::array();
  for (const LoggedTree& t : r.trees)
    trees.push_back(fmt::format("{}/{}/{}->{}->{}", t.down[0], t.down[1], t.down[2], rank, t.up));
  if (!r.trees.empty()) j["trees"] = std::move(trees);
  return j;
}

Json communicator(const LoggedCommunicator& c) {
  Json j{{"id", c.id.empty() ? Json(nullptr) : Json(c.id)}, {"ranks", c.ranks}, {"line", c.line}};
  if (c.nodes > 0) j["nodes"] = c.nodes;
  j["complete"] = c.complete;
  if (c.coll_channels >= 0) {
    j["channels"] = {{"coll", c.coll_channels}};
    if (c.collnet_channels >= 0) j["channels"]["collnet"] = c.collnet_channels;
    if (c.nvls_channels >= 0) j["channels"]["nvls"] = c.nvls_channels;
    j["channels"]["p2p"] = c.p2p_channels;
    j["channels"]["p2p_per_peer"] = c.p2p_channels_per_peer;
  }
  j["rings"] = Json::array();
  for (const auto& [channel, order] : c.rings) j["rings"].push_back({{"channel", channel}, {"order", order}});
  if (!c.nvls_heads.empty()) {
    j["nvls_heads"] = Json::array();
    for (const auto& [head, ranks] : c.nvls_heads) j["nvls_heads"].push_back(ranks);
  }
  j["members"] = Json::array();
  for (const auto& [rank, r] : c.members) j["members"].push_back(member(rank, r));
  return j;
}

Json graph(const LoggedGraph& g) {
  return {{"pattern", g.pattern},
          {"cross_nic", g.cross_nic},
          {"channels", g.channels},
          {"intra_GBps", g.bw_intra},
          {"inter_GBps", g.bw_inter},
          {"type_intra", g.type_intra},
          {"type_inter", g.type_inter},
          {"same_channels", g.same_channels},
          {"orders", g.orders},
          {"count", g.count},
          {"line", g.line}};
}

void describe_network(const NcclLog& log, Json& found) {
  found["networks"] = texts(log.networks);
  found["ib_devices"] = Json::array();
  for (const LoggedIbDevice& d : log.ib_devices)
    found["ib_devices"].push_back(
        {{"index", d.index}, {"name", d.name}, {"port", d.port}, {"link_layer", d.link_layer}, {"sharp", d.sharp}});
  if (log.no_ib_line > 0) found["no_ib_device_line"] = log.no_ib_line;
  found["transports"] = texts(log.transports);
}

}  // namespace

Result<ImportReport> report_nccl_tuner(ImportSource& source) {
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(TunerPicks picks, read_nccl_tuner(text, source.name()));
  const auto or_null = [](const std::string& word) { return word.empty() ? Json() : Json(word); };
  const auto limit = [](std::int64_t n) { return n < 0 ? Json() : Json(n); };
  ImportReport report;
  report.found["picks"] = Json::array();
  for (const TunerPick& p : picks.picks)
    report.found["picks"].push_back({{"collective", collectives::name_of(p.op)},
                                     {"min_bytes", p.min_bytes},
                                     {"max_bytes", p.max_bytes},
                                     {"algorithm", or_null(p.algorithm)},
                                     {"protocol", or_null(p.protocol)},
                                     {"channels", limit(p.channels)},
                                     {"nodes", limit(p.nodes)},
                                     {"ranks", limit(p.ranks)}});
  report.unknown = std::move(picks.unknown);
  return report;
}

Result<ImportReport> report_perf_json(ImportSource& source) {
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(PerfResults results, read_perf_json(text, source.name()));
  return describe(std::move(results));
}

Result<ImportReport> report_perf_csv(ImportSource& source) {
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(PerfResults results, read_perf_csv(text, source.name()));
  return describe(std::move(results));
}

Result<ImportReport> report_perf_table(ImportSource& source) {
  BUSBAR_ASSIGN(LineSource lines, source.lines());
  BUSBAR_ASSIGN(PerfResults results, read_perf_table(lines));
  return describe(std::move(results));
}

Result<ImportReport> report_nccl_log(ImportSource& source) {
  BUSBAR_ASSIGN(LineSource lines, source.lines());
  BUSBAR_ASSIGN(NcclLog log, read_nccl_log(lines));
  return report_of(std::move(log));
}

ImportReport report_of(NcclLog log) {
  ImportReport report;
  Json& found = report.found;
  found["lines"] = log.lines;
  found["messages"] = log.messages;
  found["broken_messages"] = log.broken;
  found["versions"] = texts(log.versions);
  if (log.cuda_driver >= 0) found["cuda_driver"] = log.cuda_driver;
  found["hosts"] = texts(log.hosts);
  found["settings"] = Json::array();
  for (const LoggedSetting& s : log.settings)
    found["settings"].push_back({{"name", s.name}, {"value", s.value}, {"line", s.line}});
  describe_network(log, found);
  found["communicators"] = Json::array();
  for (LoggedCommunicator& c : log.communicators) {
    found["communicators"].push_back(communicator(c));
    c = LoggedCommunicator();  // frees memory: large logs hold many
  }
  found["graphs"] = Json::array();
  for (const LoggedGraph& g : log.graphs) found["graphs"].push_back(graph(g));
  found["choices"] = Json::array();
  for (const LoggedChoice& c : log.choices)
    found["choices"].push_back({{"collective", c.collective.empty() ? Json(nullptr) : Json(c.collective)},
                                {"bytes", c.bytes},
                                {"algorithm", c.algorithm},
                                {"protocol", c.protocol},
                                {"first_channel", c.first_channel},
                                {"last_channel", c.last_channel},
                                {"count", c.count}});
  found["system"] = texts(log.system);
  found["paths"] = Json::array();
  for (const LoggedPath& p : log.paths)
    found["paths"].push_back({{"from", p.from}, {"to", p.to}, {"hops", p.hops}, {"GBps", p.GBps}, {"type", p.type}});
  found["tuning"] = texts(log.tuning);
  found["warnings"] = texts(log.warnings);
  found["other_messages"] = texts(log.other);
  report.unknown = std::move(log.unknown);
  return report;
}

}  // namespace busbar::formats
