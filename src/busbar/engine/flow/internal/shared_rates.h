// Fair rates of stages that share links. They are kept, because training steps repeat themselves.
#pragma once

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/base/random.h"
#include "busbar/engine/stage_solver.h"
#include "busbar/lowering/components.h"

namespace busbar {

/// Solves a sharing group whole the first time its stages are together, and part by part from the second time on. A
/// part is a set of fluids that share links with one another and with no other fluid, so an end re-solves its own part
/// alone. Both ways give the same bits. A part that is asked for often keeps its equations, with all its fluids, and
/// solves them for the open ones.
class SharedRates {
 public:
  struct Member {
    std::uint32_t stage_id;  ///< equal ids are equal stages
    const Stage* stage;
    std::span<const double> left;  ///< per fluid; above 0: open
  };
  SharedRates(StageSolver& solver, const CapacityTable& table);
  /// In bytes per ps, of the open fluids, member by member. Valid until the next call.
  std::span<const double> of(std::span<const Member> group);

 private:
  struct KnownGroup {
    std::uint32_t number = 0;
    bool again = false;
    Csr<std::uint32_t> parts;  ///< of places_; none before it is asked for again
  };
  struct Place {
    std::uint32_t member, fluid;
    bool open;
  };
  /// The equations of a part with all its fluids.
  struct Equations {
    std::uint64_t part = 0;
    MaxMinSolver solver;
  };
  struct HashOfKey {
    std::size_t operator()(const std::vector<std::uint64_t>& key) const {
      std::uint64_t h = key.size();
      for (const std::uint64_t word : key) h = mix64(h ^ word);
      return h;
    }
  };
  const Shortcuts& shortcuts() const { return solver_.shortcuts(); }
  void list(std::span<const Member> group);
  void find_parts(std::span<const Member> group, KnownGroup& known_group);
  const std::vector<double>* known(std::uint64_t part, std::span<const std::uint32_t> row);
  void solve(std::span<const Member> group, std::uint64_t part, std::span<const std::uint32_t> row);
  std::span<const double> fresh_rates(std::span<const Member> group, std::span<const std::uint32_t> row, bool all);
  std::span<const double> rates_of_open(std::span<const Member> group, std::uint64_t part,
                                        std::span<const std::uint32_t> row);

  StageSolver& solver_;
  const CapacityTable& table_;
  ComponentSplitter splitter_{Shortcuts::none()};
  bool sized_ = false;                                       ///< whether splitter_ is
  std::map<std::vector<std::uint32_t>, KnownGroup> groups_;  ///< by stages
  std::unordered_map<std::vector<std::uint64_t>, std::vector<double>, HashOfKey>
      known_;                                                 ///< by group, part and its open fluids
  std::unordered_map<std::uint64_t, std::uint32_t> unknown_;  ///< times that a part's rates were not known
  std::vector<Equations> equations_;                          ///< of few parts; the next to go is at oldest_
  std::size_t oldest_ = 0;
  std::vector<double> some_;
  std::size_t kept_ = 0;  ///< numbers in both
  std::vector<std::uint32_t> ids_, all_;
  std::vector<std::uint64_t> key_;
  std::vector<Place> places_;
  std::vector<double> rate_, out_;  ///< rate_: per place
};

}  // namespace busbar
