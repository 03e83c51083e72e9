// Fair rates of stages that share links. They are kept, because training steps repeat themselves.
#pragma once

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "busbar/base/random.h"
#include "busbar/engine/flow/internal/group_links.h"
#include "busbar/engine/stage_solver.h"
#include "busbar/solve/kept_fluids.h"

namespace busbar {

/// The first time that stages are together, the links that can be full with all their fluids are sought and kept: a few
/// of the links that they cross. All rates of these stages are solved over them, part by part. A part is a set of
/// fluids that share such links with one another and with no other fluid, so an end re-solves its own part alone. A
/// group with some stages of a known one is that one after the fluids of its other stages have ended.
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
  struct Part {
    std::vector<std::uint32_t> places;  ///< in places_
    KeptFluids fluids;
  };
  struct KnownGroup {
    std::uint32_t number = 0;
    std::vector<double> lone_rate;  ///< per fluid: its rate if it shares no kept link; 0: it is in a part
    std::vector<Part> parts;
    std::vector<std::uint32_t> ids, first;  ///< per member: stage, and place of its first fluid
    const KnownGroup* larger = nullptr;     ///< has these members and others; this one then keeps nothing but `at`
    std::vector<std::uint32_t> at;          ///< places in the larger one
  };
  struct Place {
    std::uint32_t member, fluid;
    bool open;
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
  void find_larger(KnownGroup& known_group) const;
  void keep_links(std::span<const Member> group, KnownGroup& known_group);
  std::vector<std::vector<std::uint32_t>> sets_that_share(const MaxMinSolver& reduced);
  const std::vector<double>* known(std::uint64_t part, std::span<const std::uint32_t> places);
  std::span<const double> fresh_rates(std::span<const Member> group);
  std::span<const double> kept_rates(const Part& part);
  void solve(std::uint64_t number, const Part& part);
  double cap_of(std::span<const Member> group, const Place& p) const {
    return group[p.member].stage->fluids[p.fluid].cap();
  }

  StageSolver& solver_;
  const CapacityTable& table_;
  GroupLinks links_;
  KeptRates kept_rates_;
  std::map<std::vector<std::uint32_t>, KnownGroup> groups_;  ///< by stages
  std::unordered_map<std::vector<std::uint64_t>, std::vector<double>, HashOfKey>
      known_;             ///< by group, part and its open fluids
  std::size_t kept_ = 0;  ///< numbers in both
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint64_t> key_;
  std::vector<Place> places_;
  std::vector<bool> place_open_;               ///< of the group whose links are kept
  std::vector<const KnownGroup*> with_links_;  ///< the last kMostCompared that keep links, in a ring
  std::size_t oldest_ = 0;
  std::vector<std::uint8_t> open_;     ///< of a part
  std::vector<std::uint32_t> number_;  ///< per row of what was reduced last; none between calls
  std::vector<double> rate_, out_;     ///< rate_: per place
};

}  // namespace busbar
