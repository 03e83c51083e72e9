#include "busbar/choice/cut_time.h"

#include <algorithm>
#include <map>

#include "busbar/collectives/edges.h"

namespace busbar::choice {
namespace {

double rate_ps(const topology::Topology& t, topology::LinkId l) {
  return std::max(t.payload_rate(l), t.payload_rate(topology::reverse(l))) / kPsPerSecond;
}

}  // namespace

double CutTime::links_of(std::uint32_t rank) {
  double sum = 0;
  for (const topology::LinkId l : topology_.out_links(gpu_[rank])) sum += rate_ps(topology_, l);
  return sum;
}

double CutTime::cables_of(std::uint32_t block) {
  double sum = 0;
  const topology::Block& b = topology_.blocks()[index(blocks_[block])];
  for (std::uint32_t p = 0; p < b.device_count; ++p)
    for (const topology::LinkId l : topology_.out_links(static_cast<topology::DeviceId>(b.first_device + p)))
      if (topology_.block_of(topology_.to(l)) != blocks_[block]) sum += rate_ps(topology_, l);
  return sum;
}

/// Sets where the ranks are and the rates of their links. False if some rank is outside all servers.
bool CutTime::place(const program::CollectiveCall& call) {
  if (!gpu_.empty() && placed_ == call.groups) return true;
  gpu_.clear(), block_of_.clear(), blocks_.clear(), links_.clear(), cables_.clear();
  std::map<topology::BlockId, std::uint32_t> number;
  for (std::uint32_t m = 0; m < call.groups.size(); ++m) {
    const topology::DeviceId gpu = placement_.gpu(call.groups.actor(0, m));
    const topology::BlockId block = topology_.block_of(gpu);
    if (block == kNone<topology::BlockId>) return gpu_.clear(), false;
    const auto [known, fresh] = number.try_emplace(block, static_cast<std::uint32_t>(blocks_.size()));
    if (fresh) blocks_.push_back(block);
    gpu_.push_back(gpu);
    block_of_.push_back(known->second);
    links_.push_back(links_of(m));
  }
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) cables_.push_back(cables_of(b));
  placed_ = call.groups;
  by_rank_.assign(gpu_.size(), Chunks());
  by_block_.assign(blocks_.size(), Chunks());
  return true;
}

/// A reducer is in a switch, so traffic between a rank and a reducer crosses the links of the rank.
void CutTime::add(std::uint32_t from, std::uint32_t to, double chunks) {
  const std::size_t n = gpu_.size();
  if (from < n) by_rank_[from].out += chunks;
  if (to < n) by_rank_[to].in += chunks;
  if (from >= n || to >= n || block_of_[from] == block_of_[to]) return;
  by_block_[block_of_[from]].out += chunks;
  by_block_[block_of_[to]].in += chunks;
}

/// Adds the same traffic for every pair of members.
void CutTime::add_alike(const collectives::GroupFamily& family, double chunks) {
  const double n = family.size();
  const auto add_both = [](Chunks& c, double more) { c.out += more, c.in += more; };
  for (std::uint32_t g = 0; g < family.groups(); ++g) {
    std::map<std::uint32_t, double> members;
    for (std::uint32_t m = 0; m < family.size(); ++m) {
      const std::uint32_t rank = family.actor(g, m);
      add_both(by_rank_[rank], (n - 1) * chunks);
      ++members[block_of_[rank]];
    }
    for (const auto& [block, own] : members) add_both(by_block_[block], own * (n - own) * chunks);
  }
}

void CutTime::add_run(const collectives::Schedule& s, collectives::PhaseRun run) {
  for (std::uint32_t p = run.begin; p < run.end; ++p) {
    const collectives::Phase& phase = s.phases[p];
    const collectives::GroupFamily& family = s.families[phase.family];
    const std::uint64_t each = collectives::chunks_per_pair(s, phase);
    if (each > 0) add_alike(family, static_cast<double>(each));
    for (std::uint32_t g = 0; each == 0 && g < family.groups(); ++g)
      collectives::for_each_edge(s, phase, g, [&](std::uint32_t from, std::uint32_t to, auto chunks) {
        add(from, to, static_cast<double>(chunks));
      });
  }
}

double CutTime::take_most_ps() {
  double most = 0;
  const auto take = [&](std::vector<Chunks>& all, const std::vector<double>& rates) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double chunks = std::max(all[i].out, all[i].in);
      if (chunks > 0) most = std::max(most, chunks / rates[i]);
      all[i] = {};
    }
  };
  take(by_rank_, links_);
  take(by_block_, cables_);
  return most;
}

double CutTime::least_ps(const program::CollectiveCall& call, const collectives::Schedule& s) {
  if (!s.pairs.equal() || s.ranks != call.groups.size() || !place(call)) return 0;
  std::vector<std::vector<collectives::PhaseRun>> runs(s.channels);
  std::size_t steps = 0;
  for (const collectives::PhaseRun run : collectives::phase_runs(s)) {
    auto& own = runs[s.phases[run.begin].channel];
    own.push_back(run);
    steps = std::max(steps, own.size());
  }
  const bool together = collectives::pipelines(s) || call.chunks > 1;
  double ps = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    for (const auto& own : runs)
      if (step < own.size()) add_run(s, own[step]);
    if (!together) ps += take_most_ps();
  }
  return (ps + take_most_ps()) * static_cast<double>(count(call.bytes)) / s.chunks_per_buffer();
}

}  // namespace busbar::choice
