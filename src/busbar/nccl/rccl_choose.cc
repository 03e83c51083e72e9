// Choosing by RCCL's rules: the least forecast, then protocols, channels and direct sends that depend on the size.
#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "busbar/nccl/internal/rccl_tables.h"
#include "busbar/nccl/internal/rccl_tuning.h"

namespace busbar::nccl {
namespace {

const std::string& target_of(const NcclComm& c) { return c.shapes.front().system.target; }

/// The sizes in bytes up to which a protocol is used in spite of the table. LL128 begins where LL ends, or at `from`.
struct RcclSizes {
  std::uint64_t ll = 0, ll128_from = 0, ll128 = 0;
};

constexpr std::uint64_t kKiB = 1024, kMiB = kKiB * 1024;

/// With several nodes. Bytes are S for all-reduce, else S / ranks.
RcclSizes several_nodes(std::string_view target, collectives::Collective op, std::uint32_t nodes) {
  const bool cdna3 = target.starts_with("gfx94");
  const auto reduced = [&](std::uint64_t most) {
    return nodes > 2 ? static_cast<std::uint64_t>(static_cast<double>(most) * 3.8) : most;
  };
  if (!cdna3 && !target.starts_with("gfx95") && !target.starts_with("gfx12")) return {};
  const std::uint64_t small = target.starts_with("gfx12") ? kMiB : 256 * kKiB;
  switch (op) {
    case collectives::Collective::kAllReduce:
      return cdna3 ? RcclSizes{512 * kKiB, 512 * kKiB, reduced(4'415'057)}
                   : RcclSizes{small, small, reduced(70'640'910)};
    case collectives::Collective::kReduceScatter:
      return cdna3 ? RcclSizes{640 * kKiB, 128 * kKiB, 3'211'264} : RcclSizes{64 * kKiB, 64 * kKiB, 8 * kMiB};
    case collectives::Collective::kAllGather:
      return cdna3 ? RcclSizes{96 * kKiB, 96 * kKiB, 5'046'272} : RcclSizes{64 * kKiB, 64 * kKiB, 8 * kMiB};
    case collectives::Collective::kReduce:
      return cdna3 ? RcclSizes{4 * kKiB, 4 * kKiB, 16 * kMiB} : RcclSizes{16'383, 16'383, 16 * kMiB};
    default:
      return cdna3 ? RcclSizes{8 * kKiB, 8 * kKiB, 32 * kMiB} : RcclSizes{2 * kKiB, 2 * kKiB, 16 * kMiB};
  }
}

/// Bytes per rank up to which one node uses LL in spite of the table; 0: none.
std::uint64_t one_node_ll(std::string_view target, collectives::Collective op) {
  if (target.starts_with("gfx95")) {
    if (op == collectives::Collective::kAllGather) return 88'448;
    return op == collectives::Collective::kReduceScatter ? kMiB : 0;
  }
  return target.starts_with("gfx94") && op == collectives::Collective::kReduceScatter ? 352'128 : 0;
}

/// Channels of gfx950 on several nodes, by bytes per rank; 0: as otherwise.
std::uint32_t channels_by_size(const NcclComm& c, collectives::Collective op, std::uint64_t per_rank) {
  struct Step {
    std::uint64_t below;
    std::uint32_t channels;
  };
  constexpr Step kScatter[] = {{512, 0},         {kKiB, 2},        {2 * kKiB, 4}, {4 * kKiB, 8},   {64 * kKiB, 16},
                               {256 * kKiB, 32}, {512 * kKiB, 40}, {kMiB, 56},    {256 * kMiB, 64}};
  constexpr Step kGather[] = {{2 * kKiB, 0},    {4 * kKiB, 2}, {8 * kKiB, 4},  {16 * kKiB, 8},  {256 * kKiB, 16},
                              {512 * kKiB, 32}, {kMiB, 40},    {4 * kMiB, 56}, {256 * kMiB, 64}};
  if (c.node_count() < 2 || !target_of(c).starts_with("gfx95")) return 0;
  std::span<const Step> steps;
  if (op == collectives::Collective::kReduceScatter) steps = kScatter;
  if (op == collectives::Collective::kAllGather) steps = kGather;
  for (const Step& s : steps)
    if (per_rank <= s.below) return s.channels;
  return 0;
}

std::uint64_t threshold_of(const NcclComm& c, collectives::Collective op, const NcclChoice& choice) {
  const bool gathers = op == collectives::Collective::kAllGather || op == collectives::Collective::kReduceScatter;
  const bool wide = gathers && c.node_count() > 1;
  if (choice.protocol == NcclProtocol::kSimple) return 64;
  if (choice.protocol == NcclProtocol::kLl128) return wide ? std::uint64_t{64} * c.ranks : 8;
  if (choice.algorithm == NcclAlgorithm::kTree) return 8;
  return std::uint64_t{wide ? 16u : 8u} * c.ranks;
}

void set_rccl_channels(const NcclComm& c, const NcclTuning& t, collectives::Collective op, std::uint64_t bytes,
                       NcclChoice& out) {
  out.threads = t.threads[static_cast<std::size_t>(out.algorithm)][static_cast<std::size_t>(out.protocol)];
  out.channels = c.channels;
  const std::uint64_t per_channel = out.threads * threshold_of(c, op, out);
  if (bytes < out.channels * per_channel)
    out.channels = static_cast<std::uint32_t>(
        std::max({std::uint64_t{1}, std::uint64_t{c.settings.min_channels}, bytes / per_channel}));
  if (const std::uint32_t set = channels_by_size(c, op, bytes / c.ranks); set > 0)
    out.channels = std::min(set, c.channels);
}

/// Whether an all-gather is so small that every rank sends directly to every other.
bool is_direct(const NcclComm& c, collectives::Collective op, std::uint64_t bytes) {
  const std::string& target = target_of(c);
  const bool cdna4 = target.starts_with("gfx95"), one = c.node_count() == 1;
  if (op != collectives::Collective::kAllGather || c.ranks % 8 != 0 || (!one && !c.settings.pxn.value_or(false)))
    return false;
  if (target.starts_with("gfx94")) return bytes <= 4 * kMiB;
  return cdna4 && c.node_count() < 64 && bytes <= (one ? 8 : c.node_count() * 2) * kMiB;
}

bool available(const NcclTuning& t, collectives::Collective op, NcclAlgorithm a, NcclProtocol p,
               const NcclAllowed& allowed) {
  return allowed.has(a) && allowed.has(p) && t.of(op, a, p).GBps > 0;
}

/// Sets the protocol that the size requires, unless the user names one.
void override_protocol(const NcclComm& c, const NcclTuning& t, collectives::Collective op, std::uint64_t bytes,
                       const NcclForced& forced, NcclChoice& out) {
  const NcclAllowed& allowed = c.settings.allowed[nccl_place(op)];
  if (forced.protocol || allowed.protocols != 0xff) return;
  const std::uint64_t size = op == collectives::Collective::kAllReduce ? bytes : bytes / c.ranks;
  const std::string& target = target_of(c);
  const auto may = [&](NcclProtocol p) { return available(t, op, out.algorithm, p, allowed); };
  if (c.node_count() == 1) {
    if (size <= one_node_ll(target, op) && may(NcclProtocol::kLl)) out.protocol = NcclProtocol::kLl;
    const bool trees = target.starts_with("gfx95") && op == collectives::Collective::kAllReduce && !forced.algorithm &&
                       available(t, op, NcclAlgorithm::kTree, NcclProtocol::kLl, allowed);
    if (trees && size >= 64 && size <= 256 * kKiB) {
      out.algorithm = NcclAlgorithm::kTree;
      out.protocol = NcclProtocol::kLl;
    }
    return;
  }
  const RcclSizes range = several_nodes(target, op, c.node_count());
  if (range.ll == 0) return;
  if (size > range.ll128_from && size <= range.ll128 && may(NcclProtocol::kLl128))
    out.protocol = NcclProtocol::kLl128;
  else if (size <= range.ll && may(NcclProtocol::kLl))
    out.protocol = NcclProtocol::kLl;
  else if (may(NcclProtocol::kSimple))
    out.protocol = NcclProtocol::kSimple;
}

/// The least forecast among the permitted choices; empty if none is permitted.
std::optional<NcclChoice> least_forecast(const NcclComm& c, const NcclTuning& t, collectives::Collective op,
                                         std::uint64_t bytes, const NcclForced& forced) {
  const NcclAllowed& allowed = c.settings.allowed[nccl_place(op)];
  const RcclConstants& k = rccl_constants(c);
  std::optional<NcclChoice> best;
  for (const NcclAlgorithm a : {NcclAlgorithm::kTree, NcclAlgorithm::kRing})
    for (std::size_t i = 0; i < kNcclProtocols; ++i) {
      const auto p = static_cast<NcclProtocol>(i);
      if (forced.algorithm.value_or(a) != a || forced.protocol.value_or(p) != p) continue;
      if (!available(t, op, a, p, allowed)) continue;
      const NcclCost& cost = t.of(op, a, p);
      const bool tree = a == NcclAlgorithm::kTree;
      const float share = tree || c.node_count() > 1 ? rccl_share(tree ? k.tree : k.ring, p, bytes) : 1;
      if (share <= 0) continue;
      const double us = static_cast<double>(bytes) / (1000.0 * static_cast<double>(cost.GBps * share));
      const float time = cost.latency_us + static_cast<float>(us);
      if (best && time >= best->forecast_us) continue;
      best.emplace();
      best->algorithm = a;
      best->protocol = p;
      best->forecast_us = time;
    }
  return best;
}

}  // namespace

Result<NcclChoice> choose_rccl(const NcclComm& c, const NcclTuning& t, collectives::Collective op, Bytes size,
                               const NcclForced& forced) {
  const std::uint64_t bytes = count(size);
  std::optional<NcclChoice> best = least_forecast(c, t, op, bytes, forced);
  if (!best)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("RCCL has no {} for {} here; leave algorithm and protocol to it",
                             forced.algorithm ? name_of(*forced.algorithm) : "such protocol", collectives::name_of(op)),
                 {}};
  const bool free = !forced.algorithm && !forced.protocol && c.settings.allowed[nccl_place(op)].algorithms == 0xff;
  if (free && is_direct(c, op, bytes)) {
    NcclChoice direct = nccl_point_to_point(c, op, bytes);
    direct.forecast_us = best->forecast_us;
    return direct;
  }
  override_protocol(c, t, op, bytes, forced, *best);
  set_rccl_channels(c, t, op, bytes, *best);
  best->pieces = nccl_pieces(c, t, *best, size);
  return *best;
}

}  // namespace busbar::nccl
