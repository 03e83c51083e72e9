// The predecessors of MSCCL++ steps: signals, semaphores, barriers and packets.
#include <fmt/core.h>

#include <algorithm>

#include "busbar/formats/internal/mscclpp_reader.h"

namespace busbar::formats {

/// The n-th channel of a type from one rank to another pairs with the n-th channel back.
Result<std::uint32_t> MscclppReader::other_end(const MscclppEnd& e, const std::string& path) const {
  const auto& [rank, type, number] = e;
  const std::vector<std::uint32_t>& mine = gpus_[rank].peers.at(type);
  const std::uint32_t peer = mine[number];
  const auto nth = std::count(mine.begin(), mine.begin() + number, peer);
  const auto theirs = gpus_[peer].peers.find(type);
  std::int64_t seen = 0;
  for (std::uint32_t i = 0; theirs != gpus_[peer].peers.end() && i < theirs->second.size(); ++i)
    if (theirs->second[i] == rank && seen++ == nth) return i;
  return fail(path, fmt::format("rank {} has no {} channel back to rank {}", peer, type, rank));
}

Status MscclppReader::match_signals() {
  for (const auto& [end, waits] : waits_) {
    const auto& [rank, type, number] = end;
    if (type == "switch") return fail(waits.path, "a switch channel has no signals");
    BUSBAR_ASSIGN(const std::uint32_t other, other_end(end, waits.path));
    const auto signals = signals_.find({gpus_[rank].peers.at(type)[number], type, other});
    const std::size_t sent = signals == signals_.end() ? 0 : signals->second.steps.size();
    if (sent < waits.steps.size())
      return fail(waits.path, fmt::format("waits for {} signals, of which {} are sent", waits.steps.size(), sent));
    for (std::size_t k = 0; k < waits.steps.size(); ++k) after_[waits.steps[k]].push_back(signals->second.steps[k]);
  }
  return {};
}

/// The k-th acquisition waits for the release that makes the count large enough.
Status MscclppReader::match_semaphores() {
  for (const auto& [id, acquired] : acquired_) {
    const auto first = static_cast<std::size_t>(gpus_[id.first].semaphores[id.second]);
    const auto released = released_.find(id);
    const std::size_t given = first + (released == released_.end() ? 0 : released->second.steps.size());
    if (given < acquired.steps.size())
      return fail(acquired.path, fmt::format("acquires {} times what is given {} times", acquired.steps.size(), given));
    for (std::size_t k = first; k < acquired.steps.size(); ++k) {
      const std::uint32_t before = released->second.steps[k - first];
      if (plan().steps[before].thread != acquired.thread) after_[acquired.steps[k]].push_back(before);
    }
  }
  return {};
}

/// Each thread block's k-th arrival waits for the steps of the other blocks before their k-th arrivals.
void MscclppReader::match_barriers() {
  for (const auto& [id, steps] : barriers_) {
    std::map<std::uint32_t, std::uint32_t> arrived;  // per thread
    std::map<std::uint32_t, std::vector<std::uint32_t>> turns;
    for (const std::uint32_t s : steps) turns[arrived[plan().steps[s].thread]++].push_back(s);
    for (const auto& [turn, all] : turns)
      for (const std::uint32_t a : all)
        for (const std::uint32_t s : all)
          if (a != s && s > 0 && plan().steps[s - 1].thread == plan().steps[s].thread) after_[a].push_back(s - 1);
  }
}

/// A reader of packets waits for their writer, since flags among the data show their arrival.
void MscclppReader::match_packets() {
  std::map<std::tuple<std::uint32_t, collectives::PlanBuffer, std::uint32_t>, std::uint32_t> writer;
  const auto each = [&](const Csr<collectives::PlanSlice>& slices, std::uint32_t s, auto&& f) {
    for (const collectives::PlanSlice& x : slices.row(s))
      for (std::uint32_t i = 0; x.buffer == collectives::PlanBuffer::kScratch && i < plan().steps[s].count; ++i)
        f(std::tuple{x.rank, x.buffer, x.first + i});
  };
  const auto n = static_cast<std::uint32_t>(plan().steps.size());
  for (std::uint32_t s = 0; s < n; ++s)
    if (packets_out_[s]) each(plan().writes, s, [&](const auto& place) { writer[place] = s; });
  for (std::uint32_t s = 0; s < n; ++s) {
    if (!packets_in_[s]) continue;
    each(plan().reads, s, [&](const auto& place) {
      const auto from = writer.find(place);
      if (from != writer.end() && plan().steps[from->second].thread != plan().steps[s].thread)
        after_[s].push_back(from->second);
    });
    std::sort(after_[s].begin(), after_[s].end());
    after_[s].erase(std::unique(after_[s].begin(), after_[s].end()), after_[s].end());
  }
}

}  // namespace busbar::formats
