// A sample training step as a document. Its numbers are invented; its form is that of a real report. For
// tests only.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "busbar/report/document.h"
#include "busbar/report/layered_drawing.h"
#include "busbar/report/style.h"

namespace busbar::report::demo {
inline Bars breakdown() {
  Bars out{"Where the time of one step goes", "s", {}, 0, 0, ""};
  const auto bar = [](std::string name, double a, double t, double d, double p, double b, double o, double r) {
    return Bar{std::move(name),
               {{"compute", a, colour::kCompute},
                {"exposed TP", t, colour::kTp},
                {"exposed DP", d, colour::kDp},
                {"exposed PP", p, colour::kPp},
                {"bubble", b, colour::kIdle},
                {"optimizer", o, colour::kOptimizer},
                {"other", r, colour::kOther}}};
  };
  out.bars = {bar("TP 8, PP 1, DP 64", 6.31, 1.482, 0.213, 0, 0, 0.031, 0.062),
              bar("TP 8, PP 4 interleaved, DP 16", 6.31, 1.482, 0.064, 0.081, 0.42, 0.027, 0.062)};
  return out;
}

inline Bars memory() {
  Bars out{"Memory of one GPU", "GB", {}, 0, 80, "HBM of an H100"};
  out.bars = {{"TP 8, PP 1, DP 64",
               {{"weights", 17.64, 0},
                {"gradients", 17.64, 1},
                {"optimizer", 1.65, 5},
                {"activations", 32.4, 2},
                {"buffers", 2.1, 6}}},
              {"TP 8, PP 4, DP 16",
               {{"weights", 4.41, 0},
                {"gradients", 4.41, 1},
                {"optimizer", 1.65, 5},
                {"activations", 24.9, 2},
                {"buffers", 2.1, 6}}}};
  return out;
}

inline TimelineView pipeline() {
  TimelineView out{"One step, a GPU of every pipeline stage",
                   "Interleaved 1F1B; only the first micro-batches are drawn.",
                   0,
                   2.4,
                   {},
                   {}};
  for (int stage = 0; stage < 4; ++stage) {
    TimelineRow compute{fmt::format("stage {} (nodes {}-{})", stage, stage * 16, stage * 16 + 15), "compute", {}};
    TimelineRow comm{compute.group, "communication", {}};
    double t = 0.03 * stage;
    for (int mb = 0; mb < 24; ++mb) {
      const bool forward = mb < 4 || mb % 2 == 0;
      const double d = forward ? 0.052 : 0.104;
      compute.spans.push_back(
          {t, d * 0.8, colour::kCompute, fmt::format("{} of micro-batch {}", forward ? "forward" : "backward", mb)});
      comm.spans.push_back({t + d * 0.8, d * 0.17, colour::kTp, "all_gather over NVLink"});
      comm.spans.push_back({t + d * 0.97, d * 0.03, colour::kPp, "activations to the next stage"});
      t += d + (mb < 4 - stage ? 0.02 : 0);
    }
    comm.spans.push_back({t, 0.09, colour::kDp, "reduce_scatter of gradients, bound by leaf3 to spine1"});
    compute.spans.push_back({t + 0.09, 0.03, colour::kOptimizer, "Adam"});
    compute.spans.push_back({t, 0.09, colour::kIdle, "waits for gradients"});
    out.rows.push_back(compute);
    out.rows.push_back(comm);
  }
  out.legend = {{"compute", 0}, {"tensor parallel", 1}, {"data parallel", 2}, {"pipeline", 3},
                {"idle", 4},    {"optimizer", 5}};
  return out;
}

inline Table levels() {
  return {"Levels a byte crosses",
          {to_left("level"), to_left("link"), "GB/s per direction", "latency (ns)",
           Column("load over the step (%)", Align::kRight, 100)},
          {{"HBM", "HBM3, 5 stacks", "3350", "-", "48.1 %"},
           {"NVLink", "18 x NVLink 4 to 4 NVSwitch", "450", "1000", "71.3 %"},
           {"PCIe", "PCIe 5.0 x16", "63.0", "700", "22.4 %"},
           {"NIC", "ConnectX-7, 400 Gb/s NDR", "50.0", "1500", "31.9 %"},
           {"leaf to spine", "400 Gb/s NDR", "50.0", "600", "94.2 %"}},
          "Rates are payload before protocol efficiency; load is the busiest link of the level."};
}

/// `spans` short spans over `rows` rows, like a simulation of many layers.
inline TimelineView busy_timeline(std::size_t rows, std::size_t spans) {
  TimelineView out{
      "Every kernel of the step", "", 0, 8, {}, {{"compute", 0}, {"tensor parallel", 1}, {"data parallel", 2}}};
  std::uint64_t state = 1;
  const std::size_t each = spans / rows;
  for (std::size_t r = 0; r < rows; ++r) {
    TimelineRow row{fmt::format("node {}", r / 2), r % 2 == 0 ? "compute" : "communication", {}};
    const double slot = 8.0 / static_cast<double>(each);
    for (std::size_t i = 0; i < each; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX generator: need only look random
      const double part = static_cast<double>(state >> 40) / 16777216.0;
      row.spans.push_back({static_cast<double>(i) * slot, slot * part, static_cast<int>(state >> 33) % 3, "kernel"});
    }
    out.rows.push_back(row);
  }
  return out;
}

/// The inside of an eight-GPU server: about 60 cables.
inline LayeredDrawing server() {
  LayeredDrawing out{
      "Inside one DGX H100", "Four NVSwitches over eight GPUs; every GPU shares a PCIe switch with a NIC.", "", {}, {}};
  const auto layer = [&](std::string title, const char* name, int n, int tone) {
    Layer l{std::move(title), {}, {}};
    for (int i = 0; i < n; ++i) l.nodes.push_back({fmt::format("{}{}", name, i), tone, -1, "", 0});
    out.layers.push_back(std::move(l));
  };
  layer("NVSwitch", "nvswitch", 4, colour::kSwitch);
  layer("GPU", "gpu", 8, colour::kGpu);
  layer("PCIe switch", "plx", 8, colour::kSwitch);
  layer("NIC", "nic", 8, colour::kNic);
  layer("CPU socket", "cpu", 2, colour::kCpu);
  for (std::uint32_t g = 0; g < 8; ++g) {
    for (std::uint32_t s = 0; s < 4; ++s) out.edges.push_back({{0, s}, {1, g}, 0.71, 1.5 + (s % 2), "NVLink, 71 %"});
    out.edges.push_back({{1, g}, {2, g}, 0.22, 2, "PCIe 5.0 x16, 22 %"});
    out.edges.push_back({{2, g}, {3, g}, g == 3 ? 0.97 : 0.32, 2, "PCIe 5.0 x16"});
    out.edges.push_back({{2, g}, {4, g / 4}, 0.02, 2, "PCIe 5.0 x16, 2 %"});
  }
  out.edges.push_back({{4, 0}, {4, 1}, 0.0, 3, "UPI, 0 %"});
  return out;
}

/// Leaf and spine for `units` scalable units of `nodes` nodes with `leaves` leaves each.
inline LayeredDrawing fabric(std::uint32_t units, std::uint32_t nodes, std::uint32_t leaves, std::uint32_t spines) {
  LayeredDrawing out{"The fabric", "Spines over leaves over nodes.", "Colour is the load of the busiest link.", {}, {}};
  out.layers = {{"spine", {}, {}}, {"leaf", {}, {}}, {"node", {}, {}}};
  for (std::uint32_t s = 0; s < spines; ++s)
    out.layers[0].nodes.push_back({fmt::format("s{}", s), colour::kSpine, -1, "", 0});
  for (std::uint32_t u = 0; u < units; ++u) {
    out.layers[1].groups.push_back(fmt::format("unit {}", u));
    out.layers[2].groups.push_back(fmt::format("unit {}", u));
    for (std::uint32_t l = 0; l < leaves; ++l) {
      const std::uint32_t id = u * leaves + l;
      out.layers[1].nodes.push_back({fmt::format("leaf{}", id), colour::kLeaf, id == 3 ? 0.95 : 0.4, "", u});
      for (std::uint32_t s = 0; s < spines; ++s)
        out.edges.push_back({{0, s}, {1, id}, id == 3 && s == 1 ? 0.95 : 0.4, 1, "leaf3 to s1"});
    }
    for (std::uint32_t n = 0; n < nodes; ++n) {
      const std::uint32_t id = u * nodes + n;
      out.layers[2].nodes.push_back({fmt::format("n{}", id), colour::kGpu, 0.3 + 0.001 * n, "", u});
      for (std::uint32_t l = 0; l < leaves; ++l) out.edges.push_back({{1, u * leaves + l}, {2, id}, 0.32, 1, "rail"});
    }
  }
  return out;
}

inline Document training_step() {
  Document out;
  out.title = "Llama-3-70B, one training step on 512 H100";
  out.command = "busbar train examples/llama3-70b-512xh100.yaml --html report.html --trace step.perfetto-trace";
  out.add(
      Highlight{"One step takes 8.10 s (-6 % to +9 %), 42.1 % MFU. It is bound by compute; of the 1.79 s of exposed "
                "communication 1.48 s is tensor-parallel all_gather and reduce_scatter on NVLink."});
  out.add(Facts{"At a glance",
                {{"step time", "8.10 s"},
                 {"tokens per second per GPU", "1012"},
                 {"model TFLOP/s per GPU", "416"},
                 {"MFU", "42.1 %"},
                 {"scaling against DP = 1", "97.4 %"},
                 {"memory of one GPU", "71.4 of 80 GB"},
                 {"cost of one step", "$ 2.83"},
                 {"1 % of exposed communication", "$ 0.006 per step"}}});
  out.add(Heading{"Where the time goes"});
  out.add(
      Paragraph{"Communication at the same time as compute is not counted; the rest is exposed and delays the step. "
                "The parts of a bar sum to the step time exactly."});
  out.add(breakdown());
  out.add(pipeline());
  out.add(Heading{"Does it fit"});
  out.add(memory());
  out.add(Heading{"The machine"});
  out.add(levels());
  out.add(lay_out(server()));
  out.add(lay_out(fabric(2, 32, 8, 16)));
  out.add(lay_out(fabric(16, 32, 8, 64)));
  out.add(Heading{"How far this can be trusted"});
  out.add(Paragraph{
      "Kernel times come from measured tables; link efficiencies from published nccl-tests runs. The band is the "
      "spread of the prediction error on 41 measured rows of the same class."});
  return out;
}

}  // namespace busbar::report::demo
