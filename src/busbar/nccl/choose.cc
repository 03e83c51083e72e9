// Choosing for one call: algorithm and protocol by the least forecast, then channels and threads by size.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "busbar/nccl/internal/rccl_tuning.h"
#include "busbar/nccl/internal/tuning_tables.h"
#include "busbar/nccl/tuning.h"

namespace busbar::nccl {
namespace {

/// Source: NVIDIA NCCL 2.30.7, src/graph/tuning.cc, ncclTopoGetAlgoTime.
float forecast_us(const NcclComm& c, const NcclCost& cost, collectives::Collective op, NcclAlgorithm a, NcclProtocol p,
                  std::uint64_t bytes) {
  float bandwidth = cost.GBps, latency = cost.latency_us;
  const int q = std::bit_width(bytes >> 6) - 1;
  const bool reduces = op == collectives::Collective::kAllReduce && q >= 0;
  if (reduces && a == NcclAlgorithm::kTree && q < 23) bandwidth *= tree_correction(p, q);
  const bool x86 = c.shapes.front().system.cpu.arch == CpuArch::kX86;
  if (reduces && a == NcclAlgorithm::kNvlsTree && q < 24 && c.least_capability >= 100 && x86 &&
      c.settings.version >= NcclVersion{2, 27})
    bandwidth *= tree_correction(NcclProtocol::kSimple, q);
  if (a == NcclAlgorithm::kRing && p == NcclProtocol::kSimple && op == collectives::Collective::kAllReduce &&
      c.node_count() > 1 && bytes / (std::uint64_t{c.channels} * c.ranks) >= 64)
    latency *= c.least_capability < 80 ? 1.9f : 1.4f;  // a plateau of the measured latency
  return latency + static_cast<float>(static_cast<double>(bytes) / (1000.0 * bandwidth));
}

/// Below this many bytes per thread, NCCL uses fewer threads and channels.
std::uint64_t thread_threshold(NcclAlgorithm a, NcclProtocol p, std::uint32_t ranks) {
  if (p == NcclProtocol::kLl) return a == NcclAlgorithm::kRing ? std::uint64_t{8} * ranks : 8;
  if (p == NcclProtocol::kLl128) return 8;
  return a == NcclAlgorithm::kCollnetDirect || a == NcclAlgorithm::kCollnetChain ? 512 : 64;
}

void set_channels(const NcclComm& c, const NcclTuning& t, std::uint64_t bytes, NcclChoice& out) {
  std::uint32_t channels = c.channels;
  std::uint32_t threads = t.threads[static_cast<std::size_t>(out.algorithm)][static_cast<std::size_t>(out.protocol)];
  const std::uint64_t threshold = thread_threshold(out.algorithm, out.protocol, c.ranks);
  const auto little = [&](std::uint64_t per_channel) { return bytes < channels * per_channel; };
  switch (out.algorithm) {
    case NcclAlgorithm::kNvls:
      channels = c.node_count() > 1 ? std::min(c.nvls_channels, c.channels) : c.nvls_channels;
      break;
    case NcclAlgorithm::kNvlsTree:
      channels = c.nvls_channels;
      break;
    case NcclAlgorithm::kCollnetDirect: {
      const std::uint64_t heads = std::max(c.graphs.collnet_direct.channels, 1u);
      for (std::uint32_t step = 16; step > 0; step /= 2)
        while (little(heads * threads * threshold) && channels >= 1 + step) channels -= step;
      break;
    }
    default:
      while (little(threads * threshold) && channels >= 2) --channels;
      while (little(threads * threshold) && threads % 128 == 0) threads /= 2;
  }
  if (out.protocol == NcclProtocol::kSimple) {  // a warp for synchronization
    if (out.algorithm == NcclAlgorithm::kRing) threads += 32;
    if (out.algorithm == NcclAlgorithm::kTree) threads += 128;
  }
  threads = std::max(threads, 96u);
  if (out.algorithm == NcclAlgorithm::kTree || out.algorithm == NcclAlgorithm::kPat) threads = 640;
  out.channels = channels;
  out.threads = threads;
}

/// The choice with the least forecast that `allowed` and `forced` permit; empty if they permit none.
std::optional<NcclChoice> cheapest(const NcclComm& c, const NcclTuning& t, collectives::Collective op,
                                   std::uint64_t bytes, const NcclAllowed& allowed, const NcclForced& forced) {
  std::optional<NcclChoice> best;
  for (std::size_t a = 0; a < kNcclAlgorithms; ++a)
    for (std::size_t p = 0; p < kNcclProtocols; ++p) {
      const auto algorithm = static_cast<NcclAlgorithm>(a);
      const auto protocol = static_cast<NcclProtocol>(p);
      if (forced.algorithm.value_or(algorithm) != algorithm || forced.protocol.value_or(protocol) != protocol) continue;
      if (!allowed.has(algorithm) || !allowed.has(protocol)) continue;
      const NcclCost& cost = t.of(op, algorithm, protocol);
      if (cost.GBps <= 0) continue;
      const float time = forecast_us(c, cost, op, algorithm, protocol, bytes);
      if (best && time >= best->forecast_us) continue;
      best.emplace();
      best->algorithm = algorithm;
      best->protocol = protocol;
      best->forecast_us = time;
    }
  return best;
}

}  // namespace

/// Source: src/enqueue.cc, addP2pToPlan.
NcclChoice nccl_point_to_point(const NcclComm& c, collectives::Collective op, std::uint64_t bytes) {
  NcclChoice out;
  out.algorithm = NcclAlgorithm::kPointToPoint;
  const std::uint64_t message = op == collectives::Collective::kSendRecv ? bytes : bytes / std::max(c.ranks, 1u);
  constexpr std::uint64_t kNetStep = 128 << 10, kPcieStep = 128 << 10, kNvlinkStep = 512 << 10, kLlBytes = 16 << 10;
  const bool several = c.node_count() > 1;
  const std::uint64_t step = several                                                ? kNetStep
                             : c.graphs.ring.intra_type <= topology::PathType::kNvb ? kNvlinkStep
                                                                                    : kPcieStep;
  const std::uint64_t least = several ? step / 2 : step / 8, most = several ? step : 32 * step;
  const auto parts = [](std::uint64_t total, std::uint64_t part) { return (total + part - 1) / part; };
  std::uint64_t k = std::clamp<std::uint64_t>(parts(message, least), 1, c.p2p_channels_per_peer);
  std::uint64_t part = std::max(least, parts(message, k));
  while (part > most && k <= c.p2p_channels / 2) {
    k *= 2;
    part = parts(message, k);
  }
  out.channels = static_cast<std::uint32_t>(k);
  out.protocol = !several && message <= k * kLlBytes ? NcclProtocol::kLl : NcclProtocol::kSimple;
  out.threads = 640;
  return out;
}

namespace {

/// What buffers that the user registered change: other kernels, or fewer channels of NVLS.
void use_registered(const NcclComm& c, const NcclTuning& t, collectives::Collective op, Bytes bytes,
                    NcclChoice& choice) {
  const NcclBuffers& b = c.settings.registered;
  choice.kernel = choose_kernel(c, op, bytes, choice.protocol == NcclProtocol::kLl, choice.why_not);
  if (choice.kernel || b.registration == Registration::kNone || !is_nccl_tuned(op)) return;
  if (b.registration == Registration::kLocal && !b.local) {
    choice.why_not = "NCCL_LOCAL_REGISTER=0 switches registration off";
    return;
  }
  const std::uint32_t few = registered_nvls_channels(c, op);
  const bool gathers = op == collectives::Collective::kAllGather || op == collectives::Collective::kReduceScatter;
  const NcclCost& nvls = t.of(op, NcclAlgorithm::kNvls, NcclProtocol::kSimple);
  const bool prefers = b.cta_policy == CtaPolicy::kEfficiency && gathers && nvls.GBps > 0 && few <= choice.channels;
  if (prefers) {
    choice.algorithm = NcclAlgorithm::kNvls;
    choice.protocol = NcclProtocol::kSimple;
    choice.pieces = nccl_pieces(c, t, choice, bytes);
  }
  const bool is_nvls = choice.algorithm == NcclAlgorithm::kNvls || choice.algorithm == NcclAlgorithm::kNvlsTree;
  const bool is_collnet =
      choice.algorithm == NcclAlgorithm::kCollnetDirect || choice.algorithm == NcclAlgorithm::kCollnetChain;
  constexpr std::uint32_t kCollnetChannels = 6;  // over several nodes; src/transport/coll_net.cc
  if (is_nvls || is_collnet) {
    choice.channels = std::min(choice.channels, is_nvls ? few : kCollnetChannels);
  } else if (choice.why_not.empty()) {
    choice.why_not = "local registration changes only NVLS and SHARP";
  }
}

Result<NcclChoice> choose_unregistered(const NcclComm& c, const NcclTuning& t, collectives::Collective op, Bytes bytes,
                                       const NcclForced& forced);

}  // namespace

Result<NcclChoice> choose_nccl(const NcclComm& c, const NcclTuning& t, collectives::Collective op, Bytes bytes,
                               const NcclForced& forced) {
  BUSBAR_ASSIGN(NcclChoice out, choose_unregistered(c, t, op, bytes, forced));
  const bool by_rule = !forced.algorithm && !forced.protocol;
  if (by_rule) use_registered(c, t, op, bytes, out);
  return out;
}

namespace {

Result<NcclChoice> choose_unregistered(const NcclComm& c, const NcclTuning& t, collectives::Collective op, Bytes bytes,
                                       const NcclForced& forced) {
  if (!is_nccl_tuned(op) || c.ranks < 2) return nccl_point_to_point(c, op, count(bytes));
  if (c.shapes.front().system.amd_gpus) return choose_rccl(c, t, op, bytes, forced);
  NcclAllowed allowed = c.settings.allowed[nccl_place(op)];
  std::optional<NcclChoice> best = cheapest(c, t, op, count(bytes), allowed, forced);
  if (!best && !forced.algorithm && c.settings.version >= NcclVersion{2, 19}) {  // NCCL falls back to rings
    allowed.algorithms = 0xff;
    best = cheapest(c, t, op, count(bytes), allowed, {NcclAlgorithm::kRing, forced.protocol});
  }
  if (!best)
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("NCCL {} has no {} for {} here; leave algorithm and protocol to it", to_string(c.settings.version),
                    forced.algorithm ? name_of(*forced.algorithm) : "such protocol", collectives::name_of(op)),
        {}};
  set_channels(c, t, count(bytes), *best);
  best->pieces = nccl_pieces(c, t, *best, bytes);
  return *best;
}

}  // namespace

}  // namespace busbar::nccl
