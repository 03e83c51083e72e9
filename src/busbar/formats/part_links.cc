#include "busbar/formats/internal/part_links.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "busbar/base/check.h"

namespace busbar::formats {
namespace {

constexpr std::uint64_t kMega = 1'000'000;

double payload_of(const topology::LinkClass& c) { return static_cast<double>(per_second(c.wire_rate)) * c.efficiency; }

std::string generation_name(const topology::DeviceClass& gpu) {
  if (gpu.compute_capability > 0)
    return fmt::format("compute capability {}.{}", gpu.compute_capability / 10, gpu.compute_capability % 10);
  return gpu.architecture.empty() ? "unknown generation" : gpu.architecture;
}

}  // namespace

void PartLinks::note(std::string text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
}

topology::DeviceClass PartLinks::gpu(std::uint32_t pci_id, int compute_capability, const std::string& architecture) {
  for (const topology::PartFigures::Gpu& g : figures_.gpus)
    if (pci_id != 0 && std::find(g.pci_ids.begin(), g.pci_ids.end(), pci_id) != g.pci_ids.end()) {
      topology::DeviceClass c = g.device_class;
      if (compute_capability > 0) c.compute_capability = compute_capability;
      if (!architecture.empty()) c.architecture = architecture;
      return c;
    }
  topology::DeviceClass c;
  c.compute_capability = std::max(compute_capability, 0);
  c.architecture = architecture;
  note(fmt::format("GPUs of {} whose product the file does not tell: their memory is not counted", generation_name(c)));
  return c;
}

topology::DeviceClass PartLinks::product(const std::string& name) const {
  const auto found = std::find_if(figures_.gpus.begin(), figures_.gpus.end(),
                                  [&](const topology::PartFigures::Gpu& g) { return g.device_class.part == name; });
  BUSBAR_CHECK(found != figures_.gpus.end()) << name;
  return found->device_class;
}

topology::LinkClass PartLinks::scale_up_lane(const topology::DeviceClass& gpu, topology::LinkKind kind,
                                             std::int64_t MBps) {
  const auto fits = [&](const topology::PartFigures::Gpu& g) {
    if (!g.lane || g.lane->kind != kind) return false;
    if (!gpu.part.empty()) return g.device_class.part == gpu.part;
    return kind == topology::LinkKind::kXgmi
               ? !gpu.architecture.empty() && g.device_class.architecture == gpu.architecture
               : g.device_class.compute_capability / 10 == gpu.compute_capability / 10 && gpu.compute_capability > 0;
  };
  const auto exact = std::find_if(figures_.gpus.begin(), figures_.gpus.end(), [&](const topology::PartFigures::Gpu& g) {
    return fits(g) && g.device_class.compute_capability == gpu.compute_capability;
  });
  const auto found =
      exact != figures_.gpus.end() ? exact : std::find_if(figures_.gpus.begin(), figures_.gpus.end(), fits);
  topology::LinkClass lane;
  if (found != figures_.gpus.end()) lane = *found->lane;
  lane.kind = kind;
  if (MBps > 0) lane.wire_rate = BytesPerSecond{static_cast<std::uint64_t>(MBps) * kMega};
  if (MBps > 0 || found != figures_.gpus.end()) return lane;
  lane.wire_rate = topology::kUnknownLane;
  unnamed_ = fmt::format("no product is known that has {} links and GPUs of {}; say which it is with --gpu",
                         topology::name_of(kind), generation_name(gpu));
  note(fmt::format("{} lanes of GPUs of {}: no figure is known, 1 GB/s each is assumed", topology::name_of(kind),
                   generation_name(gpu)));
  return lane;
}

topology::LinkClass PartLinks::times(topology::LinkClass lane, std::int64_t lanes) const {
  const auto n = static_cast<std::uint16_t>(std::clamp<std::int64_t>(lanes, 1, 65'535));
  lane.wire_rate = BytesPerSecond{per_second(lane.wire_rate) * n};
  lane.lanes = n;
  lane.part = fmt::format("{} x{}", lane.part.empty() ? topology::name_of(lane.kind) : lane.part, n);
  return lane;
}

topology::LinkClass PartLinks::pcie(std::string_view speed, std::int64_t width) {
  constexpr double kSpeeds[] = {2.5, 5, 8, 16, 32, 64, 128};  // GT/s of each generation, PCI-SIG
  constexpr std::size_t kAssumed = 2;
  double GTps = 0;
  std::from_chars(speed.data(), speed.data() + speed.size(), GTps);
  std::size_t generation = kAssumed;
  const auto known = std::find(std::begin(kSpeeds), std::end(kSpeeds), GTps);
  if (known != std::end(kSpeeds))
    generation = static_cast<std::size_t>(known - std::begin(kSpeeds));
  else
    note("PCIe links of unknown speed count as 8 GT/s, as for NCCL");
  topology::LinkClass lane;
  lane.kind = topology::LinkKind::kPcie;
  lane.wire_rate = BytesPerSecond{static_cast<std::uint64_t>(kSpeeds[generation] * 1e9 / 8)};
  lane.part = fmt::format("pcie{}", generation + 1);
  if (generation < figures_.pcie.size()) lane = figures_.pcie[generation];
  return times(std::move(lane), width == 0 ? 16 : width);
}

topology::LinkClass PartLinks::socket(const topology::ProcessorIdentity& p) {
  const topology::PartFigures::Processor* best = nullptr;
  for (const topology::PartFigures::Processor& known : figures_.processors) {
    const topology::ProcessorIdentity& k = known.identity;
    if (!known.socket || k.arch != p.arch || k.vendor != p.vendor || k.family > p.family) continue;
    if (k.family == p.family && k.model > p.model) continue;
    if (best && std::pair(best->identity.family, best->identity.model) > std::pair(k.family, k.model)) continue;
    best = &known;
  }
  if (best) {
    topology::LinkClass c = *best->socket;
    if (best->identity != p)
      note(fmt::format("sockets of {} family {} model {}: taken as {}", p.vendor, p.family, p.model, c.part));
    return c;
  }
  for (const topology::PartFigures::Processor& known : figures_.processors)
    if (known.socket && (best == nullptr || payload_of(*known.socket) < payload_of(*best->socket))) best = &known;
  if (best) {
    note(fmt::format("the link between the sockets is unknown: {} is assumed, the slowest in the catalogue",
                     best->socket->part));
    return *best->socket;
  }
  topology::LinkClass c;
  c.kind = topology::LinkKind::kSocket;
  c.wire_rate = topology::kUnknownLane;
  c.part = "socket";
  note(fmt::format("the link between sockets of '{} {}' is unknown: 1 GB/s is assumed", p.vendor, p.arch));
  return c;
}

topology::LinkClass PartLinks::c2c(std::int64_t MBps, std::int64_t lanes) const {
  topology::LinkClass lane;
  lane.kind = topology::LinkKind::kC2c;
  lane.wire_rate = BytesPerSecond{static_cast<std::uint64_t>(MBps) * kMega};
  return times(std::move(lane), lanes);
}

topology::LinkClass PartLinks::cable(bool infiniband, std::int64_t Mbps) const {
  const std::optional<topology::LinkClass>& figures = infiniband ? figures_.infiniband : figures_.ethernet;
  topology::LinkClass c = figures.value_or(topology::LinkClass());
  c.kind = infiniband ? topology::LinkKind::kInfiniband : topology::LinkKind::kEthernet;
  c.wire_rate = BytesPerSecond{static_cast<std::uint64_t>(Mbps) * kMega / 8};
  c.part = fmt::format("{} Gb/s", static_cast<double>(Mbps) / 1e3);
  return c;
}

topology::LinkClass PartLinks::without_wire(const char* part) const {
  topology::LinkClass c;
  c.kind = topology::LinkKind::kPcie;
  c.wire_rate = BytesPerSecond{5'000'000'000'000};  // NCCL 2.30.7, src/graph/topo.h: LOC_BW
  c.part = part;
  return c;
}

}  // namespace busbar::formats
