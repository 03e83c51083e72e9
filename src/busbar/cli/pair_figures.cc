#include "busbar/cli/pair_figures.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/report/style.h"
#include "busbar/routing/path_view.h"

namespace busbar {

Result<PairFigures> pair_figures(const Cluster& c, BlockId block) {
  const Topology& t = c.topology;
  const Block& b = t.blocks()[index(block)];
  std::vector<DeviceId> gpus;
  PairFigures out;
  for (std::uint32_t p = 0; p < b.device_count; ++p) {
    const auto d = static_cast<DeviceId>(b.first_device + p);
    if (t.kind(d) != DeviceKind::kGpu) continue;
    const std::string name = t.name(d);
    gpus.push_back(d);
    out.names.push_back(name.substr(name.find('.') + 1));
  }
  const Router router(t, c.routing, c.seed);
  for (const DeviceId from : gpus) {
    std::vector<double>& rates = out.payload_GBps.emplace_back();
    std::vector<double>& latencies = out.latency_us.emplace_back();
    for (const DeviceId to : gpus) {
      BUSBAR_ASSIGN(const PathView view, view_route(router, from, to, {c.gpudirect, c.p2p, false}));
      rates.push_back(view.payload_GBps);
      latencies.push_back(view.latency.in_ns() / 1000);
    }
  }
  return out;
}

Json to_json(const PairFigures& f) {
  Json j{{"names", f.names}, {"payload_GBps", Json::array()}, {"latency_us", Json::array()}};
  for (const auto& row : f.payload_GBps) j["payload_GBps"].push_back(row);
  for (const auto& row : f.latency_us) j["latency_us"].push_back(row);
  return j;
}

std::string pair_text(const std::string& title, const PairFigures& f, const std::vector<std::vector<double>>& values) {
  std::string out = title + "\n" + fmt::format("{:>8}", "from\\to");
  for (const std::string& name : f.names) out += fmt::format(" {:>7}", name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    out += fmt::format("\n{:>8}", f.names[i]);
    for (std::size_t k = 0; k < values.size(); ++k)
      out += i == k ? fmt::format(" {:>7}", "-") : fmt::format(" {:>7.2f}", values[i][k]);
  }
  return out + "\n";
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
