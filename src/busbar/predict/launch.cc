#include "busbar/predict/launch.h"

#include <fmt/core.h>

#include <utility>

namespace busbar::predict {
namespace {

constexpr std::pair<std::string_view, std::string_view> kModes[] = {{"graph", "graph"},
                                                                    {"loop", "single-process-multi-gpu"},
                                                                    {"process", "one-process-per-gpu"},
                                                                    {"unknown", "unknown"}};

}  // namespace

std::vector<std::string> launch_modes() {
  std::vector<std::string> out;
  for (const auto& [mode, entry] : kModes) out.emplace_back(mode);
  return out;
}

std::string launch_mode(std::string_view stated) {
  for (const auto& [mode, entry] : kModes)
    if (stated == entry) return std::string(mode);
  return "unknown";
}

Result<Launch> launch_time(std::string_view mode, const spec::Catalog& catalog) {
  for (const auto& [word, entry] : kModes) {
    if (mode != word) continue;
    BUSBAR_ASSIGN(const YamlDocument document, catalog.load("launches", std::string(entry)));
    Launch out;
    BUSBAR_ASSIGN(out.before, document.root().find("launch")->as_duration());
    if (const auto host = document.root().find("host_per_gpu")) {
      BUSBAR_ASSIGN(out.per_gpu, host->as_duration());
    }
    return out;
  }
  return invalid(fmt::format("there is no launch mode '{}'; use graph, loop, process or unknown", mode));
}

std::string launch_of_framework(const spec::Cluster& cluster, bool cuda_graphs) {
  const topology::Topology& t = cluster.topology;
  if (t.gpus().empty()) return "";
  const topology::DeviceClass& gpu = t.device_class(t.gpus().front());
  if (gpu.compute_capability == 0 && gpu.architecture.empty()) return "";
  return cuda_graphs ? "graph" : "process";
}

}  // namespace busbar::predict
