#include "busbar/engine/flow/internal/shared_stages.h"

#include <bit>
#include <unordered_map>
#include <utility>

#include "busbar/base/random.h"

namespace busbar::engine {

SharedStages::SharedStages(StageSolver& solver, const lowering::CapacityTable& table, bool merges)
    : solver_(solver), table_(table), merger_(solver, table), splitter_(solver.shortcuts()), merges_(merges) {}

void SharedStages::add(std::uint32_t id, const lowering::Stage& own) {
  if (entries_.size() <= id) entries_.resize(id + 1);
  Entry& entry = entries_[id];
  if (entry.own != nullptr) return;
  entry.own = &own;
  if (merges_) entry.merged = merger_.merged(own);
  if (solver_.shortcuts().take(Shortcut::kLinksInSeries)) refine(entry.merged ? *entry.merged : own);
}

const lowering::Stage& SharedStages::of(std::uint32_t id) {
  Entry& entry = entries_[id];
  const lowering::Stage& whole = entry.merged ? *entry.merged : *entry.own;
  if (!solver_.shortcuts().has(Shortcut::kLinksInSeries)) return whole;
  if (std::exchange(entry.version, version_) != version_) entry.folded = fold(whole);
  return entry.folded;
}

/// Splits the classes of links that the stage crosses in different ways.
void SharedStages::refine(const lowering::Stage& stage) {
  if (class_.empty()) {
    class_ = {table_.counts(), 0};
    row_ = {table_.counts(), 0};
    splitter_.resize(table_.counts());
  }
  const auto rounded = [](double x) { return std::bit_cast<std::uint32_t>(static_cast<float>(x)); };
  crossed_.clear();
  for (std::uint32_t f = 0; f < stage.fluids.size(); ++f)
    for (std::uint32_t i = stage.fluids[f].begin; i < stage.fluids[f].end; ++i) {
      std::uint64_t& row = row_[stage.on[i]];
      if (row == 0) {
        crossed_.push_back({stage.on[i], 0});
        row = std::bit_cast<std::uint64_t>(table_.rate(stage.on[i]));
      }
      row = mix64(row ^ f) + rounded(stage.weight[i]);  // sums of equal weights may differ in their last bits
    }
  struct Piece {
    std::uint32_t from, links, to;
  };
  std::vector<Piece> pieces;
  std::unordered_map<std::uint64_t, std::uint32_t> piece_of;  // looked up only
  for (Crossed& c : crossed_) {
    const std::uint64_t row = std::exchange(row_[c.on], 0);
    const auto [at, fresh] = piece_of.try_emplace(mix64(row) ^ class_[c.on], pieces.size());
    if (fresh) pieces.push_back({class_[c.on], 0, 0});
    c.piece = at->second;
    ++pieces[c.piece].links;
  }
  for (Piece& p : pieces) {
    const bool all_of_it = p.from != 0 && p.links == size_[p.from];
    p.to = all_of_it ? p.from : static_cast<std::uint32_t>(size_.size());
    if (!all_of_it) size_.push_back(p.links);
  }
  for (const Piece& p : pieces)
    if (p.to != p.from && p.from != 0) size_[p.from] -= p.links, ++version_;
  for (const Crossed& c : crossed_) class_[c.on] = pieces[c.piece].to;
}

lowering::Stage SharedStages::fold(const lowering::Stage& from) {
  first_.resize(size_.size());
  taken_by_.resize(size_.size(), 0);
  lowering::Stage out;
  for (const lowering::Fluid& f : from.fluids) {
    out.fluids.push_back(f);
    out.fluids.back().begin = static_cast<std::uint32_t>(out.on.size());
    ++folds_;
    for (std::uint32_t i = f.begin; i < f.end; ++i) {
      const std::uint32_t c = class_[from.on[i]];
      if (std::exchange(taken_by_[c], folds_) == folds_) continue;
      routing::CapacityId& first = first_[c];
      if (first == routing::CapacityId() || class_[first] != c) first = from.on[i];
      out.on.push_back(first);
      out.weight.push_back(from.weight[i]);
    }
    out.fluids.back().end = static_cast<std::uint32_t>(out.on.size());
  }
  splitter_.split(out, [&](routing::CapacityId c) { return table_.rate(c); });
  return out;
}

}  // namespace busbar::engine
