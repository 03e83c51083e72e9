#include "busbar/cli/pair_figures.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/cli/topo_sharing.h"
#include "busbar/report/plain.h"
#include "busbar/report/style.h"
#include "busbar/routing/pair_copy.h"
#include "busbar/routing/path_view.h"
#include "busbar/topology/direct_reach.h"

namespace busbar {

namespace {

/// The hardware's own paths: no GPU passes data on.
DirectReach reach_of(const Cluster& c) { return {c.gpudirect, c.p2p, false}; }

std::vector<DeviceId> devices_of(const Topology& t, BlockId block, DeviceKind kind) {
  const Block& b = t.blocks()[index(block)];
  std::vector<DeviceId> out;
  for (std::uint32_t p = 0; p < b.device_count; ++p)
    if (const auto d = static_cast<DeviceId>(b.first_device + p); t.kind(d) == kind) out.push_back(d);
  return out;
}

/// Into the host memory nearest to `from`, and out of it.
Result<PathView> view_staged(const Router& router, DeviceId from, DeviceId to) {
  const DeviceId memory = nearest_memory(router, from);
  BUSBAR_ASSIGN(PathView whole, view_route(router, from, memory));
  BUSBAR_ASSIGN(const PathView out, view_route(router, memory, to));
  whole.hops.insert(whole.hops.end(), out.hops.begin(), out.hops.end());
  whole.copied_in = {memory};
  whole.latency = whole.latency + out.latency;
  return whole;
}

/// Sets the figures with P2P off, if all GPUs reach the same host memories.
void add_staged(const Router& router, const ProtocolModel& protocol, const std::vector<DeviceId>& gpus,
                PairFigures& out) {
  for (const DeviceId d : gpus)
    if (nearest_memory(router, d) == kNone<DeviceId>) return;
  const std::size_t n = gpus.size();
  std::vector<std::vector<double>> one(n, std::vector<double>(n, 0.0)), both = one, latency = one;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k) {
      if (i == k) continue;
      const Result<PathView> there = view_staged(router, gpus[i], gpus[k]);
      const Result<PathView> back = view_staged(router, gpus[k], gpus[i]);
      if (!there.ok() || !back.ok()) return;
      const PairCopy copy = pair_copy(router.topology(), *there, *back);
      one[i][k] = copy.one_way_GBps;
      latency[i][k] = (there->latency + protocol.staged_copy).in_ns() / 1000;
      both[i][k] = copy.both_ways_GBps;
    }
  out.staged_GBps = std::move(one);
  out.staged_both_GBps = std::move(both);
  if (protocol.staged_copy != Duration()) out.staged_latency_us = std::move(latency);
}

struct SquareHead {
  std::string title, corner;
  std::size_t left, wide;  ///< columns of the names of rows, and of a cell
};

/// A row and a column per name. Columns beyond `columns` of text follow in blocks of their own.
template <typename Cell>
std::string square_text(const SquareHead& head, const std::vector<std::string>& names, std::size_t columns, Cell cell) {
  const std::size_t n = names.size(), most = columns > head.left + head.wide ? (columns - head.left) / head.wide : 1;
  const std::size_t blocks = (n + most - 1) / most, each = blocks == 0 ? 1 : (n + blocks - 1) / blocks;
  std::string out;
  for (const std::string& line : wrap_words(head.title, columns)) out += "\n" + line;
  for (std::size_t first = 0; first < n; first += each) {
    const std::size_t last = std::min(n, first + each);
    out += fmt::format("{}\n{:>{}}", first > 0 ? "\n" : "", head.corner, head.left);
    for (std::size_t k = first; k < last; ++k) out += fmt::format("{:>{}}", names[k], head.wide);
    for (std::size_t i = 0; i < n; ++i) {
      out += fmt::format("\n{:>{}}", names[i], head.left);
      for (std::size_t k = first; k < last; ++k) out += fmt::format("{:>{}}", i == k ? "-" : cell(i, k), head.wide);
    }
  }
  return out + "\n";
}

}  // namespace

Result<PairFigures> pair_figures(const Cluster& c, BlockId block) {
  const Topology& t = c.topology;
  const std::vector<DeviceId> gpus = devices_of(t, block, DeviceKind::kGpu);
  const std::size_t n = gpus.size();
  if (n > kMostInPairs)
    return invalid(
        fmt::format("a node of {} GPUs has {} pairs, and at most {} GPUs are shown; 'busbar path {} {} {}' "
                    "shows one pair",
                    n, n * (n - 1), kMostInPairs, c.name, t.name(gpus[0]), t.name(gpus[n - 1])));
  PairFigures out;
  for (const DeviceId d : gpus) out.names.push_back(name_in_node(t, d));
  for (auto* m : {&out.payload_GBps, &out.both_GBps, &out.latency_us}) m->assign(n, std::vector<double>(n, 0.0));
  const Router router(t, c.routing, c.seed);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = i + 1; k < n; ++k) {
      BUSBAR_ASSIGN(const PathView there, view_route(router, gpus[i], gpus[k], reach_of(c)));
      BUSBAR_ASSIGN(const PathView back, view_route(router, gpus[k], gpus[i], reach_of(c)));
      const PairCopy copy = pair_copy(t, there, back);
      out.payload_GBps[i][k] = copy.one_way_GBps;
      out.payload_GBps[k][i] = pair_copy(t, back, there).one_way_GBps;
      out.both_GBps[i][k] = out.both_GBps[k][i] = copy.both_ways_GBps;
      out.latency_us[i][k] = there.latency.in_ns() / 1000;
      out.latency_us[k][i] = back.latency.in_ns() / 1000;
    }
  add_staged(router, c.protocol, gpus, out);
  return out;
}

Result<HopCounts> hop_counts(const Cluster& c, BlockId block) {
  const Topology& t = c.topology;
  std::vector<DeviceId> devices = devices_of(t, block, DeviceKind::kGpu);
  for (const DeviceId nic : devices_of(t, block, DeviceKind::kNic)) devices.push_back(nic);
  if (devices.size() > kMostInPairs)
    return invalid(
        fmt::format("a node of {} GPUs and NICs is too large for a table of hops: at most {}; 'busbar path' "
                    "shows one pair",
                    devices.size(), kMostInPairs));
  HopCounts out;
  const Router router(t, c.routing, c.seed);
  for (const DeviceId from : devices) {
    out.names.push_back(name_in_node(t, from));
    auto& row = out.hops.emplace_back();
    for (const DeviceId to : devices) {
      const Result<PathView> view = view_route(router, from, to, reach_of(c));
      if (!view.ok() && view.error().code != ErrorCode::kUnreachable) return view.error();
      row.push_back(view.ok() ? std::optional(view->hops.size()) : std::nullopt);
    }
  }
  return out;
}

Json to_json(const PairFigures& f) {
  return {{"names", f.names},
          {"payload_GBps", f.payload_GBps},
          {"payload_both_directions_GBps", f.both_GBps},
          {"p2p_off_GBps", f.staged_GBps},
          {"p2p_off_both_directions_GBps", f.staged_both_GBps},
          {"latency_us", f.latency_us},
          {"p2p_off_latency_us", f.staged_latency_us}};
}

Json to_json(const HopCounts& h) {
  Json rows = Json::array();
  for (const auto& row : h.hops) {
    Json out = Json::array();
    for (const auto& hops : row) out.push_back(hops ? Json(*hops) : Json(nullptr));
    rows.push_back(std::move(out));
  }
  return {{"names", h.names}, {"hops", std::move(rows)}};
}

std::string hop_text(const HopCounts& h, std::size_t columns) {
  std::size_t wide = 4;
  for (const std::string& name : h.names) wide = std::max(wide, name.size() + 1);
  return square_text({"Links crossed between devices of the node", "", wide + 1, wide}, h.names, columns,
                     [&](std::size_t i, std::size_t k) { return h.hops[i][k] ? std::to_string(*h.hops[i][k]) : "-"; });
}

std::string pair_text(const std::string& title, const PairFigures& f, const std::vector<std::vector<double>>& values,
                      std::size_t columns) {
  return square_text({title, "from\\to", 8, 8}, f.names, columns,
                     [&](std::size_t i, std::size_t k) { return fmt::format("{:.2f}", values[i][k]); });
}

Drawing draw_pairs(const std::string& title, const PairFigures& f, const std::vector<std::vector<double>>& values) {
  constexpr std::size_t kMostWithFigures = 24;
  constexpr double kLeft = 64, kTop = 30, kWidth = 960, kMostSquare = 64, kLetter = 12;
  const std::size_t n = values.size();
  const double side = std::min(kMostSquare, (kWidth - kLeft) / static_cast<double>(std::max<std::size_t>(1, n)));
  const bool named = n <= kMostWithFigures && n > 1;
  double most = 0;
  for (const auto& row : values)
    for (const double v : row) most = std::max(most, v);
  if (n < 2 || !(most > 0)) return {};
  Drawing d;
  d.title = title;
  d.description = "A square per sender (row) and receiver (column); the largest has the strongest colour.";
  d.width = kLeft + side * static_cast<double>(n) + 8;
  d.height = kTop + side * static_cast<double>(n) + 4;
  const auto words = [&](double x, double y, std::string text, int colour) {
    Shape s{Shape::Kind::kText, x, y};
    s.text = std::move(text);
    s.size = kLetter;
    s.colour = colour;
    d.shapes.push_back(std::move(s));
  };
  for (std::size_t i = 0; i < n; ++i) {
    const double at = side * (static_cast<double>(i) + 0.5);
    if (named) words(kLeft + at, kTop / 2, f.names[i], colour::kMuted);
    if (named) words(kLeft / 2, kTop + at, f.names[i], colour::kMuted);
    for (std::size_t k = 0; k < n; ++k) {
      if (i == k) continue;
      const double x = kLeft + side * static_cast<double>(k), y = kTop + side * static_cast<double>(i);
      Shape box{Shape::Kind::kRect, x + 1, y + 1, side - 2, side - 2};
      box.heat = values[i][k] / most;
      box.text = fmt::format("{} to {}: {:.4g}", f.names[i], f.names[k], values[i][k]);
      box.opacity = named ? 0.45 : 1;  // letters on it stay legible
      d.shapes.push_back(std::move(box));
      if (named) words(x + side / 2, y + side / 2, fmt::format("{:.3g}", values[i][k]), colour::kInk);
    }
  }
  return d;
}

}  // namespace busbar
