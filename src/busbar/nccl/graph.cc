// Which speeds and path types the search tries, in which order, and how it uses the results.
#include "busbar/nccl/graph.h"

#include <algorithm>
#include <utility>

#include "busbar/nccl/internal/channel_bound.h"
#include "busbar/nccl/internal/rccl_match.h"
#include "busbar/nccl/internal/search.h"

namespace busbar::nccl {

const char* name_of(NcclPattern pattern) {
  constexpr const char* kNames[] = {"", "balanced tree", "split tree", "tree", "ring", "NVLS", "collnet direct"};
  return kNames[static_cast<std::size_t>(pattern)];
}

namespace {

/// GB/s per channel, tried from left to right. Source: NVIDIA NCCL 2.30.7, src/graph/search.cc; the shorter lists for
/// cc 100 are from 2.26.
constexpr float kIntra[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr float kInter[] = {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4f, 1.2f, .24f, .12f};
constexpr float kIntra90[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr float kInter90[] = {48, 45, 42, 40, 30, 24, 22, 20, 17.5f, 15, 12, 6, 3, 2.4f, 1.2f, .24f, .12f};
constexpr float kIntra100[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr float kInter100[] = {96, 86,    80, 48, 45.1f, 42, 40,   30,   24,   22,
                               20, 17.5f, 15, 12, 6,     3,  2.4f, 1.2f, .24f, .12f};
constexpr float kIntra100Before227[] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19};
constexpr float kInter100Before230[] = {96,    48, 45.1f, 42, 40, 30,   24,   22,   20,
                                        17.5f, 15, 12,    6,  3,  2.4f, 1.2f, .24f, .12f};

std::span<const float> speeds_of(const NcclSystem& s, NcclVersion v) {
  const int cc = s.least_capability;
  if (cc >= 100 && v >= NcclVersion{2, 25}) {
    if (s.inter) return v >= NcclVersion{2, 30} ? std::span<const float>(kInter100) : kInter100Before230;
    return v >= NcclVersion{2, 27} ? std::span<const float>(kIntra100) : kIntra100Before227;
  }
  if (cc >= 90) return s.inter ? std::span<const float>(kInter90) : kIntra90;
  return s.inter ? std::span<const float>(kInter) : kIntra;
}

// Limits on the steps of the recursion. Source: NVIDIA NCCL 2.30.7, src/graph/search.cc.
constexpr std::int64_t kAllSteps = 1 << 19;
constexpr int kSteps = 1 << 14, kStepsSameChannels = 1 << 8;

struct TypeRange {
  topology::PathType least = topology::PathType::kDis, most = topology::PathType::kLoc;
  void add(topology::PathType t) {
    least = std::min(least, t);
    most = std::max(most, t);
  }
};

TypeRange gpu_types(const NcclSystem& s) {
  TypeRange r;
  for (std::uint32_t a = 0; a < s.gpu_count(); ++a)
    for (std::uint32_t b = 0; b < s.gpu_count(); ++b)
      if (a != b) r.add(s.gpu_gpu.at(a, b).type);
  return r;
}
TypeRange net_types(const NcclSystem& s) {
  TypeRange r;
  for (std::uint32_t g = 0; g < s.gpu_count(); ++g)
    for (std::uint32_t n = 0; n < s.net_count(); ++n) r.add(s.gpu_net.at(g, n).type);
  return r;
}

/// Whether NVLink forms exactly two domains of several GPUs, with slower links between them.
bool splits_in_two(const NcclSystem& s) {
  std::vector<std::uint32_t> domain(s.gpu_count());
  for (std::uint32_t g = 0; g < s.gpu_count(); ++g) {
    domain[g] = g;
    for (std::uint32_t p = 0; p < g; ++p)
      if (s.gpu_gpu.at(g, p).type == topology::PathType::kNvl) {
        domain[g] = domain[p];
        break;
      }
  }
  int several = 0;
  for (std::uint32_t g = 0; g < s.gpu_count(); ++g) several += std::count(domain.begin(), domain.end(), g) > 1 ? 1 : 0;
  return several == 2;
}

topology::PathType worse(topology::PathType t) { return static_cast<topology::PathType>(static_cast<int>(t) + 1); }

class Relaxation {
 public:
  Relaxation(const NcclSystem& s, NcclGraph wanted, const NcclSettings& settings)
      : s_(s),
        best_(std::move(wanted)),
        speeds_(speeds_of(s, settings.version)),
        shortcuts_(settings.shortcuts),
        bound_(s),
        search_(s, best_, settings.version) {
    const bool may_cross = best_.pattern == NcclPattern::kRing || best_.pattern == NcclPattern::kBalancedTree ||
                           best_.pattern == NcclPattern::kSplitTree;
    cross_ = s.net_count() > 1 && may_cross ? settings.cross_nic : 0;
    if (cross_ == 1 && settings.version < NcclVersion{2, 23}) cross_ = 2;  // before 2.23, crossing meant alternating
    best_.cross_nic = cross_ == 1 ? 1 : 0;
    best_.channels = 0;
    best_.gpus = s.gpu_count();
    best_.intra_GBps = best_.inter_GBps = 0;
    if (s.gpu_count() > 1)
      intra_ = gpu_types(s);
    else
      intra_ = {topology::PathType::kLoc, topology::PathType::kSys};
    inter_ = {topology::PathType::kPix, topology::PathType::kSys};
    if (s.inter) {
      inter_ = net_types(s);
      intra_.most = inter_.most;
    }
    if (s.least_capability < 90) inter_.most = topology::PathType::kSys;
    best_.intra_type = intra_.least;
    best_.inter_type = inter_.least;
    collect_types();
    same_channels_ = best_.pattern != NcclPattern::kNvls;
    best_.same_channels = same_channels_;
  }

  NcclGraph run() {
    if (!limit_channels()) return best_;
    trial_ = best_;
    set_speed(start_speed(true));
    relax();
    double_channels();
    speed_up();
    if (best_.channels == 0 && !best_.collnet && best_.pattern != NcclPattern::kNvls) fall_back();
    return std::move(best_);
  }

 private:
  /// Returns false if this node can have no such graph.
  bool limit_channels() {
    const bool nvls = best_.pattern == NcclPattern::kNvls;
    if (nvls && (!s_.has_nvs() || s_.least_capability < 90)) return false;
    constexpr std::uint32_t kMostNvlsHeads = 32, kMostCollnetHeads = 8;
    if (nvls) best_.max_channels = std::min(kMostNvlsHeads, s_.gpu_count());
    if (best_.pattern == NcclPattern::kCollnetDirect) best_.max_channels = std::min(kMostCollnetHeads, s_.gpu_count());
    if (s_.gpu_count() == 1 && best_.pattern != NcclPattern::kRing) best_.pattern = NcclPattern::kTree;
    if (nvls && !s_.inter) best_.min_channels = best_.max_channels;
    if (best_.pattern == NcclPattern::kRing && splits_in_two(s_) && best_.min_channels == 1) best_.min_channels = 2;
    return true;
  }

  std::size_t start_speed(bool all_channels) const {
    double total = s_.total_GBps;
    const double devices = s_.gpu_count();
    if (devices > 1 && best_.pattern != NcclPattern::kRing) total *= devices / (devices - 1);
    std::size_t i = 0;
    while (i + 1 < speeds_.size() &&
           (speeds_[i] > s_.max_GBps ||
            (all_channels && speeds_[i] * static_cast<float>(best_.min_channels) > static_cast<float>(total))))
      ++i;
    return i;
  }
  void set_speed(std::size_t i) {
    speed_ = i;
    trial_.intra_GBps = trial_.inter_GBps = speeds_[i];
  }

  static int granted_to(const NcclGraph& trial) { return trial.same_channels ? kStepsSameChannels : kSteps; }

  /// Runs one search and returns whether the whole search is over. With `may_pass`, a search that cannot improve the
  /// result is skipped; the steps it would leave are computed only when they matter.
  bool done(bool may_pass) {
    trial_.hops = 0;
    budget_ -= granted_to(trial_);
    may_pass = may_pass && shortcuts_.has(Shortcut::kChannelBound);
    passed_over_ = may_pass && !bound_.may_improve(trial_, best_) && shortcuts_.take(Shortcut::kChannelBound);
    if (passed_over_)
      last_ = trial_;
    else
      left_ = search(trial_, granted_to(trial_));
    return (!passed_over_ && left_ == kNcclPerfect) ||
           static_cast<float>(best_.channels) * best_.inter_GBps >= s_.total_GBps;
  }

  /// Counts the steps that the last search left. A skipped search counts 0 at first; it may have left more, not less.
  bool out_of_budget() {
    if (passed_over_)
      uncounted_.push_back(last_);
    else
      budget_ += left_;
    if (budget_ >= 0 || best_.channels == 0) return false;
    for (const NcclGraph& trial : uncounted_) budget_ += search(trial, granted_to(trial));
    uncounted_.clear();
    return budget_ < 0;
  }

  /// The key of a trial: trials with equal keys are the same search. Path types that do not occur allow nothing more.
  struct Trial {
    NcclPattern pattern{};
    bool same_channels = false;
    int cross = 0, granted = 0;
    std::uint32_t least = 0, most = 0;
    float intra = 0, inter = 0;
    unsigned intra_types = 0, inter_types = 0;
    bool operator==(const Trial&) const = default;
  };

  /// Steps left after a search. A repeated search would meet the same chains and improve nothing, so it is not run.
  int search(const NcclGraph& wanted, int granted) {
    const auto up_to = [](topology::PathType t) { return (2u << static_cast<unsigned>(t)) - 1; };
    const Trial t{wanted.pattern,
                  wanted.same_channels,
                  wanted.cross_nic,
                  granted,
                  wanted.min_channels,
                  wanted.max_channels,
                  wanted.intra_GBps,
                  wanted.inter_GBps,
                  types_inside_ & up_to(wanted.intra_type),
                  types_outside_ & up_to(wanted.inter_type)};
    for (const auto& [trial, left] : trials_)
      if (trial == t) return left;
    const int left = search_.run(wanted, granted);
    trials_.emplace_back(t, left);
    return left;
  }

  void relax() {
    while (!done(true) && relax_one()) {
    }
  }

  /// Relaxes the next restriction; false if none is left.
  bool relax_one() {
    const bool amd_sys = s_.cpu.arch == CpuArch::kX86 && s_.cpu.vendor == CpuVendor::kAmd &&
                         trial_.intra_type == topology::PathType::kSys;
    if (trial_.same_channels && !amd_sys) {
      trial_.same_channels = false;
      return true;
    }
    trial_.same_channels = same_channels_;
    if (out_of_budget()) return false;
    if (s_.least_capability >= 90 && trial_.pattern == NcclPattern::kBalancedTree) {
      trial_.pattern = NcclPattern::kTree;
      return true;
    }
    trial_.pattern = best_.pattern;
    return relax_types() || relax_cross() || slow_down();
  }

  bool relax_types() {
    const topology::PathType most_intra = s_.inter ? trial_.inter_type : intra_.most;
    const bool none = best_.channels == 0;
    if (trial_.intra_type < most_intra && (none || trial_.intra_type < best_.intra_type)) {
      trial_.intra_type = worse(trial_.intra_type);
      if (trial_.intra_type < topology::PathType::kDis) return true;
    }
    trial_.intra_type = intra_.least;
    if (s_.inter && trial_.inter_type < inter_.most &&
        (none || trial_.inter_type < best_.inter_type || trial_.inter_type < topology::PathType::kPxn)) {
      trial_.inter_type = worse(trial_.inter_type);
      if (trial_.inter_type < topology::PathType::kDis) return true;
    }
    trial_.inter_type = inter_.least;
    return false;
  }

  bool relax_cross() {
    if (cross_ == 2 && trial_.cross_nic == 0 &&
        (best_.pattern == NcclPattern::kRing || best_.pattern == NcclPattern::kBalancedTree)) {
      trial_.cross_nic = 2;
      return true;
    }
    trial_.cross_nic = cross_ == 1 ? 1 : 0;
    return false;
  }

  bool slow_down() {
    if (speed_ + 1 >= speeds_.size()) return false;
    if (best_.channels > 0 && speeds_[speed_ + 1] / best_.inter_GBps <= .49f) return false;
    set_speed(speed_ + 1);
    return true;
  }

  void double_channels() {
    NcclGraph& g = best_;
    if (g.channels > 0 && g.pattern != NcclPattern::kNvls && g.intra_GBps >= 25 &&
        !(s_.least_capability > 80 && g.intra_GBps < 50 && g.channels > 4)) {
      const std::uint32_t doubled = std::min(g.channels * 2, g.max_channels);
      for (std::uint32_t c = g.channels; c < doubled; ++c) {
        const std::uint32_t from = c - g.channels;
        std::copy_n(g.intra.begin() + std::size_t{from} * g.gpus, g.gpus, g.intra.begin() + std::size_t{c} * g.gpus);
        if (!g.inter.empty())
          std::copy_n(g.inter.begin() + std::size_t{from} * 2, 2, g.inter.begin() + std::size_t{c} * 2);
      }
      const auto parts = static_cast<float>((doubled + g.channels - 1) / g.channels);
      g.intra_GBps /= parts;
      g.inter_GBps /= parts;
      g.channels = doubled;
    }
  }

  /// Second pass: the same number of channels at higher speed.
  void speed_up() {
    if (best_.channels == 0) return;
    trial_ = best_;
    trial_.min_channels = best_.channels;
    std::size_t i = 0;
    while (i + 1 < speeds_.size() && speeds_[i] > best_.inter_GBps) ++i;
    set_speed(i);
    left_ = kNcclPerfect;
    while (left_ != 0 && speed_ > 0) {
      if (best_.pattern == NcclPattern::kRing) {
        set_speed(speed_ - 1);
      } else if (best_.pattern == NcclPattern::kNvls && trial_.inter_GBps == best_.inter_GBps &&
                 trial_.inter_GBps < trial_.intra_GBps * 2) {
        trial_.min_channels = trial_.max_channels = best_.channels;
        trial_.inter_GBps = speeds_[--speed_];
      } else if (trial_.intra_GBps == best_.intra_GBps && trial_.intra_GBps < trial_.inter_GBps * 2) {
        trial_.intra_GBps = speeds_[--speed_];
      } else {
        break;
      }
      static_cast<void>(done(false));  // a still higher speed may succeed where this one failed
    }
  }

  void fall_back() {
    best_.intra.resize(best_.gpus);
    for (std::uint32_t g = 0; g < best_.gpus; ++g) best_.intra[g] = g;
    best_.intra_GBps = 0.1f;
    best_.intra_type = topology::PathType::kSys;
    best_.channels = 1;
    best_.inter.clear();
    best_.inter_type = topology::PathType::kDis;
    if (s_.net_count() == 0) return;
    best_.inter = {local_net(s_, 0, 0), local_net(s_, best_.gpus - 1, 0)};
    best_.inter_GBps = 0.1f;
    best_.inter_type = topology::PathType::kSys;
  }

  void collect_types() {
    const auto add = [](const NcclPaths& paths, unsigned& types) {
      for (const NcclPath& p : paths.cells) types |= 1u << static_cast<unsigned>(p.type);
    };
    add(s_.gpu_gpu, types_inside_), add(s_.gpu_nvs, types_inside_), add(s_.nvs_gpu, types_inside_);
    add(s_.gpu_net, types_outside_), add(s_.net_gpu, types_outside_);
  }

  const NcclSystem& s_;
  NcclGraph best_, trial_;
  std::vector<std::pair<Trial, int>> trials_;      ///< the trials made so far, with the steps they left
  unsigned types_inside_ = 0, types_outside_ = 0;  ///< one bit per PathType that occurs
  std::span<const float> speeds_;
  Shortcuts shortcuts_;
  ChannelBound bound_;
  GraphSearch search_;
  TypeRange intra_, inter_;
  int cross_ = 0, left_ = 0;
  bool passed_over_ = false;          ///< whether the last trial was skipped
  NcclGraph last_;                    ///< the last trial, if it was skipped
  std::vector<NcclGraph> uncounted_;  ///< skipped trials whose remaining steps are not counted yet
  bool same_channels_ = true;
  std::size_t speed_ = 0;
  std::int64_t budget_ = kAllSteps;
};

}  // namespace

NcclGraph search_nccl_graph(const NcclSystem& system, NcclGraph wanted, const NcclSettings& settings) {
  return Relaxation(system, std::move(wanted), settings).run();
}

NcclGraphs search_nccl_graphs(const NcclSystem& s, const NcclSettings& settings) {
  constexpr std::uint32_t kMostSearched = kMostNcclChannels / 2;  // each channel is doubled afterwards
  constexpr std::uint32_t kMostOnAmdNode = 2;  // RCCL, src/graph/search.cc, on one node with AMD processors
  NcclGraphs out;
  NcclGraph wanted;
  wanted.max_channels = kMostSearched;
  if (s.amd_gpus && settings.rccl_models) match_rccl_model(s, settings, out);
  if (out.rccl) return out;
  if (s.amd_gpus && !s.inter && s.cpu.vendor == CpuVendor::kAmd) wanted.max_channels = kMostOnAmdNode;
  out.ring = search_nccl_graph(s, wanted, settings);
  wanted.pattern = NcclPattern::kBalancedTree;
  wanted.min_channels = wanted.max_channels = out.ring.channels;
  out.tree = search_nccl_graph(s, wanted, settings);
  if (settings.collnet) {
    wanted.collnet = true;
    wanted.pattern = NcclPattern::kTree;
    out.collnet_chain = search_nccl_graph(s, wanted, settings);
    wanted.pattern = NcclPattern::kCollnetDirect;
    wanted.min_channels = 1;
    wanted.max_channels = kMostSearched;
    out.collnet_direct = search_nccl_graph(s, wanted, settings);
  }
  if (settings.nvls) {
    NcclGraph nvls;
    nvls.pattern = NcclPattern::kNvls;
    out.nvls = search_nccl_graph(s, nvls, settings);
  }
  return out;
}

}  // namespace busbar::nccl
