#include "busbar/collectives/textbook_law.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/collectives/chain.h"
#include "busbar/collectives/moves.h"

namespace busbar::collectives {
namespace {

double sends_in_a_row(const Schedule& s) {
  std::vector<double> per_channel(s.channels, 0.0);
  for (const PhaseRun& run : phase_runs(s)) per_channel[s.phases[run.begin].channel] += run_rounds(s, run);
  return *std::max_element(per_channel.begin(), per_channel.end());
}

double busiest_share(const Schedule& s) {
  std::vector<double> sent(s.ranks + s.reducers, 0.0), received = sent;
  for (const Phase& phase : s.phases)
    for (std::uint32_t r = 0; r < rounds(s, phase); ++r)
      for_each_move(s, phase, r,
                    [&](const Move& m) { sent[m.src] += m.chunk_count, received[m.dst] += m.chunk_count; });
  double most = 0;
  for (std::uint32_t r = 0; r < s.ranks; ++r) most = std::max({most, sent[r], received[r]});
  return most / s.chunks_per_buffer();
}

bool is_ring(Pattern p) { return p == Pattern::kRingReduceScatter || p == Pattern::kRingAllGather; }

/// Passes around rings of all ranks, on one channel; 0: not such a schedule.
std::size_t passes_of_rings(const Schedule& s) {
  std::size_t passes = 0;
  for (const Phase& p : s.phases) {
    if (!is_ring(p.pattern) || s.families[p.family].size() != s.ranks) return 0;
    passes += p.channel == s.phases[0].channel ? 1 : 0;
  }
  return passes;
}

std::vector<LawPiece> in_numbers(double sends, double share) {
  return {{fmt::format("{:.4g} ", sends)},
          {"\u03b1", LawTerm::kLatency},
          {" + "},
          {share == 1 ? "S / B" : fmt::format("{:.3g} S / B", share), LawTerm::kTransfer}};
}

}  // namespace

TextbookLaw textbook_law(const Schedule& s) {
  TextbookLaw law;
  if (s.phases.empty()) return law;
  law.sends = sends_in_a_row(s);
  law.share = busiest_share(s);
  const std::size_t passes = passes_of_rings(s);
  if (passes == 0) {
    law.formula = in_numbers(law.sends, law.share);
    return law;
  }
  law.formula = {{passes == 1 ? "(n-1) (" : fmt::format("{}(n-1) (", passes)},
                 {"\u03b1", LawTerm::kLatency},
                 {" + "},
                 {"S / (n B)", LawTerm::kTransfer},
                 {")"}};
  return law;
}

}  // namespace busbar::collectives
