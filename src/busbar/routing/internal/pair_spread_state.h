// The state of PairSpread, shared by pair_classes.cc (classes of members) and pair_spread.cc (loads). Private to
// routing.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/routing/internal/pair_walk.h"
#include "busbar/routing/internal/router_state.h"
#include "busbar/routing/pair_spread.h"

namespace busbar::routing {

struct PairSpread::State {
  /// NICs on the same switches by equal cables. The fabric cannot tell them apart.
  struct Attachment {
    topology::DeviceId nic{};             ///< one of them
    std::vector<std::uint32_t> switches;  ///< per port
    bool wide() const { return switches.size() > 1; }
  };
  /// Receivers that a sender reaches by the same NIC of its own.
  struct Far {
    topology::DeviceId nic{};  ///< of one of the receivers
    std::uint32_t lane = 0, members = 0;
  };
  struct Leg {
    std::uint32_t attachment = kNone32;  ///< kNone32: no receivers
    double ps = 0;                       ///< latency to the switch; with several ports, to the NIC
  };
  /// Senders with equal legs to every Far; receivers with equal legs in every lane.
  struct Source {
    std::vector<Leg> to;  ///< per Far
    std::vector<std::uint32_t> members;
  };
  struct Sink {
    std::vector<std::uint32_t> far;  ///< per lane
    std::vector<Leg> by;             ///< per lane
    std::vector<std::uint32_t> members;
  };
  enum class Kind : std::uint8_t { kFixed, kHashed, kNone };
  /// The way between two attachments. For hashed flows only `up` is known in advance.
  struct Way {
    Kind kind = Kind::kNone;
    std::uint32_t first = 0, count = 0;  ///< in `pool`, without the NICs' own cables
    std::vector<double> up, down;        ///< shares of ports, if there are several
  };
  struct Load {
    double pairs = 0, least_ps = 0;
  };
  struct Walker;
  class HashedPairs;

  const Router& router;
  Router::State& r;
  const std::uint32_t threads;  ///< that walk hashed flows
  const double least_flows;     ///< with fewer at a time, one thread walks them
  std::span<const double> latency_ps{};
  bool bundled = false;
  StopFlag stop = nullptr;

  // Classes of members, pair_classes.cc.
  std::uint32_t members = 0, lanes = 1;
  std::vector<std::uint32_t> block{};  ///< per member, numbered from 0
  Csr<std::uint32_t> of_block{};       ///< its members
  std::vector<Attachment> attachments{};
  std::map<std::vector<std::uint32_t>, std::uint32_t> attachment_known{};
  std::unordered_map<std::uint32_t, std::uint32_t> attachment_of{};  ///< by NIC; only looked up
  std::vector<Far> fars{};
  std::vector<std::uint32_t> far_of{};     ///< per member and lane
  std::vector<std::uint32_t> own_far{};    ///< per Far: members of the current block; zero in between
  std::vector<topology::DeviceId> exit{};  ///< per member and Far: the NIC it leaves by
  std::vector<std::uint8_t>
      relayed{};  ///< per entry of the same list: whether over GPUs to a NIC joined to the receiver's NIC
  std::vector<Source> sources{};
  std::vector<Sink> sinks{};
  std::vector<std::uint32_t> source_of{}, sink_of{};  ///< per member
  std::vector<std::uint32_t> neighbours{};            ///< per source and sink: pairs of one block

  // Ways between attachments, kept while routes do not change.
  std::unordered_map<std::uint64_t, Way> ways{};  ///< only looked up
  std::vector<CapacityShare> pool{};
  SplitBias bias{};

  // Loads.
  PerCapacity<Load> load{};
  std::vector<CapacityId> touched{};
  std::vector<Load> between{};                     ///< per pair of attachments
  std::vector<double> way_ps{};                    ///< of the same ways: latency, once known
  std::vector<double> least_to{};                  ///< per source and Far
  std::vector<double> least_from{};                ///< per sink
  std::vector<std::unique_ptr<Walker>> walkers{};  ///< per thread
  std::vector<LinkShare> path{};

  // The last result.
  PairEnds asked{};
  std::vector<double> asked_ps{};
  PairLoads answer{};
  bool answered = false, possible = false;  ///< possible: `answer` holds a result

  bool classify(const PairEnds& ends);
  bool place(const PairEnds& ends);
  std::uint32_t attach(topology::DeviceId nic);
  bool find_fars(const PairEnds& ends);
  bool find_sources(const PairEnds& ends);
  bool find_sinks(const PairEnds& ends);
  bool leave(const PairEnds& ends, std::uint32_t member, std::uint32_t far);
  std::vector<topology::LinkId> ports(topology::DeviceId nic) const;
  double path_ps() const;
  template <typename F>
  void for_each_far(std::uint32_t block_number, F f);

  Result<bool> add_all(const PairEnds& ends);
  Way way(std::uint32_t a, std::uint32_t b);
  Way find_way(std::uint32_t a, std::uint32_t b);
  Kind kind_of(std::uint32_t a, std::uint32_t b) const;
  void add(CapacityId c, double pairs, double least_ps) {
    Load& x = load[c];
    if (x.pairs == 0) {
      touched.push_back(c);
      x.least_ps = least_ps;
    } else if (least_ps < x.least_ps) {
      x.least_ps = least_ps;
    }
    x.pairs += pairs;
  }
  Result<bool> find_latencies();
  /// Pairs of classes, `low` and `high` being the latencies of their pairs.
  void count_pairs(std::uint32_t source, std::uint32_t sink, double low, double high);
  bool pair_classes(const PairEnds& ends);
  void add_ways();
  void add_leaving(const PairEnds& ends);
  void add_entering(const PairEnds& ends);
  double pairs_of(std::uint32_t source, std::uint32_t sink) const {
    return static_cast<double>(sources[source].members.size()) * static_cast<double>(sinks[sink].members.size()) -
           neighbours[source * sinks.size() + sink];
  }
};

/// Calls f(far, members outside the block) for every Far with such members.
template <typename F>
void PairSpread::State::for_each_far(std::uint32_t block_number, F f) {
  const auto own = of_block.row(block_number);
  for (const std::uint32_t m : own)
    for (std::uint32_t lane = 0; lane < lanes; ++lane) ++own_far[far_of[std::size_t{m} * lanes + lane]];
  for (std::uint32_t far = 0; far < fars.size(); ++far)
    if (fars[far].members > own_far[far]) f(far, fars[far].members - own_far[far]);
  for (const std::uint32_t m : own)
    for (std::uint32_t lane = 0; lane < lanes; ++lane) own_far[far_of[std::size_t{m} * lanes + lane]] = 0;
}

}  // namespace busbar::routing
