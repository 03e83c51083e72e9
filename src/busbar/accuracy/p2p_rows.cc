// Copies, latencies and NIC tests between two places: plain rates of routes, without the software of a collective.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "busbar/accuracy/internal/measured_machine.h"
#include "busbar/accuracy/validate.h"
#include "busbar/predict/predict_options.h"
#include "busbar/predict/predictor.h"
#include "busbar/routing/pair_copy.h"
#include "busbar/routing/path_view.h"

namespace busbar::accuracy {
namespace {

/// NIC tests: gap between two messages of one queue pair. Gap and wire time combine as t^p = gap^p + wire^p. Source:
/// perftest on ConnectX-6, 2 B to 8 MiB (rdma-az-hdr-read-bw of data/measured/p2p.csv).
constexpr double kMessageGapUs = 0.353, kOverlapPower = 1.5;
/// The size of rates of NCCL without one: they are the highest of a sweep.
constexpr double kLargeMessage = 1 << 30;

struct Server {
  spec::Cluster cluster;
  std::unique_ptr<routing::Router> router;
};

/// Port rate in Gb/s from text such as "ConnectX-7 400G RoCEv2"; 0: none.
int port_gbps(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') continue;
    std::size_t end = i;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    int n = 0;
    std::from_chars(text.data() + i, text.data() + end, n);
    const bool memory = end + 1 < text.size() && text[end + 1] == 'B';  // "40GB"
    if (end < text.size() && text[end] == 'G' && !memory && n >= 10) return n;
    i = end;
  }
  return 0;
}

bool kind_fits(const std::string& path_kind, topology::PathType type) {
  if (path_kind == "nvlink" || path_kind == "xgmi" || path_kind == "nvlink-bridge")
    return type == topology::PathType::kNvl || type == topology::PathType::kNvb;
  if (path_kind == "pcie-switch") return type == topology::PathType::kPix || type == topology::PathType::kPxb;
  if (path_kind == "pcie-root") return type == topology::PathType::kPhb;
  if (path_kind == "pcie-cross-socket") return type == topology::PathType::kSys;
  return false;
}

class Paths {
 public:
  Paths(const ValidateOptions& options) : options_(options), catalog_(options.overrides.catalog) {}

  const spec::Catalog& catalog() const { return catalog_; }
  /// The path from one GPU of the board to another, of the kind that the row names.
  Result<routing::PathView> between_gpus(const std::string& node, const std::string& path_kind) {
    for (const std::string& text : boards(node, path_kind)) {
      BUSBAR_ASSIGN(const Server* s, server(node, text));
      const auto gpus = s->cluster.topology.gpus();
      for (std::size_t j = 1; j < gpus.size(); ++j) {
        Result<routing::PathView> view = routing::view_path(*s->router, gpus[0], gpus[j]);
        if (view.ok() && kind_fits(path_kind, view->type)) return view;
      }
    }
    return unsupported(fmt::format("board {} has no path of kind {}", node, path_kind));
  }
  /// NCCL's send and receive between two GPUs of the board.
  Result<predict::Prediction> nccl_send(const std::string& node, Bytes bytes) {
    auto it = predictors_.find(node);
    if (it == predictors_.end()) {
      BUSBAR_ASSIGN(spec::Cluster cluster, spec::parse_cluster(board(node), node, options_.overrides));
      predict::PredictPolicy policy{.engine = options_.engine, .stop = options_.stop};
      BUSBAR_RETURN_IF_ERROR(predict::read_predict_options(options_.predict, catalog_, policy));
      BUSBAR_ASSIGN(auto predictor, predict::Predictor::make(std::move(cluster), {}, policy));
      it = predictors_.emplace(node, std::move(predictor)).first;
    }
    return it->second->time(predict::call_over(collectives::Collective::kSendRecv, bytes, 2), predict::kTimeAlone);
  }
  Result<program::ProtocolModel> protocol(const std::string& node) {
    BUSBAR_ASSIGN(const Server* s, server(node, board(node)));
    return s->cluster.protocol;
  }
  /// The path from the first GPU to the memory of its socket.
  Result<routing::PathView> to_host(const std::string& node) {
    BUSBAR_ASSIGN(const Server* s, server(node, board(node)));
    const topology::Topology& t = s->cluster.topology;
    std::optional<routing::PathView> best;
    for (std::uint32_t d = 0; d < t.device_count(); ++d) {
      if (t.kind(static_cast<topology::DeviceId>(d)) != topology::DeviceKind::kNuma) continue;
      Result<routing::PathView> view = routing::view_path(*s->router, t.gpus()[0], static_cast<topology::DeviceId>(d));
      if (view.ok() && (!best || view->payload_GBps > best->payload_GBps)) best = std::move(*view);
    }
    if (!best) return unsupported(fmt::format("board {} has no host memory", node));
    return *std::move(best);
  }

 private:
  std::string board(const std::string& node) const { return fmt::format("name: {0}\nnode: {0}\n", node); }
  /// The board itself; for cards also a server with such a path.
  std::vector<std::string> boards(const std::string& node, const std::string& path_kind) const {
    const char* variant = path_kind == "pcie-switch"         ? "pcie-switch"
                          : path_kind == "pcie-cross-socket" ? "cross-socket"
                                                             : "";
    if (*variant == 0) return {board(node)};
    const CsvTable one =
        CsvTable::parse(fmt::format("node,nodes,gpus_per_node,gpus_total,node_variant\n{},1,8,8,{}\n", node, variant),
                        node)
            .value();
    const auto cards = machine_of_row(one, 0, catalog_);
    return cards.ok() ? std::vector<std::string>{board(node), cards->text} : std::vector<std::string>{board(node)};
  }
  Result<const Server*> server(const std::string& node, const std::string& text) {
    auto it = servers_.find(text);
    if (it == servers_.end()) {
      auto s = std::make_unique<Server>();
      Result<spec::Cluster> cluster = spec::parse_cluster(text, node, options_.overrides);
      if (!cluster.ok()) return unsupported(cluster.error().message);
      s->cluster = std::move(*cluster);
      s->router = std::make_unique<routing::Router>(s->cluster.topology, s->cluster.routing, s->cluster.seed);
      it = servers_.emplace(text, std::move(s)).first;
    }
    return it->second.get();
  }

  const ValidateOptions& options_;
  spec::Catalog catalog_;
  std::map<std::string, std::unique_ptr<Server>> servers_;
  std::map<std::string, std::unique_ptr<predict::Predictor>> predictors_;
};

/// Payload rate of a port in GB/s, one direction.
Result<double> port_rate(const CsvTable& table, std::size_t row, const spec::Catalog& catalog) {
  const std::string& kind = table.cell(row, "path_kind");
  int gbps = port_gbps(table.cell(row, "gpu_or_nic"));
  for (const char* column : {"path", "system"})
    if (gbps == 0) gbps = port_gbps(table.cell(row, column));
  if (gbps == 0) return unsupported("the rate of the NIC is not stated");
  const bool ethernet = kind == "nic-roce" || table.cell(row, "gpu_or_nic").find("RoCE") != std::string::npos;
  const std::string network = network_of(kind == "nic-tcp" ? "tcp" : ethernet ? "roce" : "ib", gbps, 1, catalog);
  if (network.empty()) return unsupported(fmt::format("no network of {} Gb/s in the catalogue", gbps));
  BUSBAR_ASSIGN(const YamlDocument document, catalog.load("networks", network));
  const auto link = document.root().find("link");
  BUSBAR_ASSIGN(const double efficiency, link->find("efficiency")->as_number(0, 1));
  return gbps / 8.0 * efficiency;
}

struct Rate {
  double GBps = 0;             ///< for one flow in one direction
  double both_directions = 2;  ///< rate of both directions together, relative to one
  double latency_us = 0;
  std::string how;
};

Result<Rate> rate_of(const CsvTable& table, std::size_t row, Paths& paths) {
  const std::string& kind = table.cell(row, "path_kind");
  const std::string& node = table.cell(row, "node");
  if (kind.starts_with("nic-") || kind == "loopback") {
    BUSBAR_ASSIGN(const double rate, port_rate(table, row, paths.catalog()));
    return Rate{rate, 2, 0, "NIC"};
  }
  if (node.empty() || node == "unknown") return unsupported("the board is not known");
  if (!paths.catalog().has("nodes", node)) return unsupported(fmt::format("no board {} in the catalogue", node));
  if (kind == "host-device" || kind == "nvlink-c2c" || kind == "host-staged") {
    BUSBAR_ASSIGN(const routing::PathView way, paths.to_host(node));
    if (kind == "host-staged") {
      BUSBAR_ASSIGN(const program::ProtocolModel protocol, paths.protocol(node));
      return Rate{way.payload_GBps * routing::kStagedShare, 1, protocol.staged_copy.in_us(),
                  "two copies through host memory"};
    }
    // Both directions end in the same memory. PCIe is narrower than the memory, a chip-to-chip link is not.
    const double memory = way.hops.back().payload_GBps;
    return Rate{way.payload_GBps, std::min(2.0, memory / way.payload_GBps), way.latency.in_us(),
                topology::name_of(way.type)};
  }
  if (table.cell(row, "tool").starts_with("NCCL")) {
    BUSBAR_ASSIGN(const auto size, table.number(row, "size_bytes"));
    const double bytes = size.value_or(kLargeMessage);
    BUSBAR_ASSIGN(const predict::Prediction p, paths.nccl_send(node, Bytes{static_cast<std::uint64_t>(bytes)}));
    return Rate{bytes / p.time.in_us() / 1e3, 2, p.time.in_us(), "NCCL's send_recv"};
  }
  BUSBAR_ASSIGN(const routing::PathView way, paths.between_gpus(node, kind));
  return Rate{way.payload_GBps, 2, way.latency.in_us(), topology::name_of(way.type)};
}

/// The prediction in the unit of the row's metric.
Result<double> predict(const CsvTable& table, std::size_t row, const Rate& rate, double size, const char** unit) {
  const std::string& metric = table.cell(row, "metric");
  const std::string& basis = table.cell(row, "value_basis");
  const bool nic = table.cell(row, "path_kind").starts_with("nic-") || table.cell(row, "path_kind") == "loopback";
  if (metric.starts_with("latency")) {
    *unit = "us";
    if (nic || rate.latency_us == 0) return unsupported("latency of software");
    return rate.latency_us;
  }
  if (basis == "aggregate") return unsupported("the number of flows is not a column");
  double GBps = rate.GBps;
  if (nic && size > 0) {
    const double wire_us = size / GBps / 1e3;
    GBps = size / 1e3 /
           std::pow(std::pow(kMessageGapUs, kOverlapPower) + std::pow(wire_us, kOverlapPower), 1 / kOverlapPower);
  }
  if (basis == "total") GBps *= rate.both_directions;
  if (basis == "per-direction" && table.cell(row, "dir_kind") == "bi") GBps *= rate.both_directions / 2;
  *unit = "GB/s";
  if (metric == "bandwidth_GBps") return GBps;
  *unit = "Gb/s";
  if (metric == "bandwidth_Gbps") return GBps * 8;
  *unit = "MiB/s";
  if (metric == "bandwidth_MiBps") return GBps * 1e9 / (1 << 20);
  return unsupported(fmt::format("metric {}", metric));
}

}  // namespace

Result<std::vector<ScoredRow>> validate_point_to_point(const CsvTable& table, const std::vector<std::size_t>& rows,
                                                       const ValidateOptions& options) {
  std::vector<ScoredRow> out;
  Paths paths(options);
  for (const std::size_t row : rows) {
    if (options.go_on && !options.go_on(out.size(), rows.size())) break;
    ScoredRow s = begin_scored_row(table, row);
    s.kind = table.cell(row, "path_kind");
    s.fabric = s.kind.starts_with("nic-") ? s.kind.substr(4) : "none";
    BUSBAR_ASSIGN(const auto size, table.number(row, "size_bytes"));
    BUSBAR_ASSIGN(const auto value, table.number(row, "value"));
    s.size_bytes = static_cast<std::uint64_t>(size.value_or(0));
    const auto fill = [&]() -> Status {
      if (!value || *value <= 0) return unsupported("no value");
      BUSBAR_ASSIGN(const Rate rate, rate_of(table, row, paths));
      BUSBAR_ASSIGN(s.predicted, predict(table, row, rate, size.value_or(0), &s.unit));
      s.measured = *value;
      s.how = rate.how;
      return {};
    };
    if (const Status done = fill(); !done.ok()) {
      if (done.error().code == ErrorCode::kInvalid) return done.error();
      s.unsupported = done.error().message;
    }
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace busbar::accuracy
