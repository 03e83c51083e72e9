// Schedules as data: which actor sends which chunk to whom in which round, in phases over families of groups of actors.
//
// Invariants:
//  1. Actors 0..ranks-1 are ranks; ranks..ranks+reducers-1 are abstract in-network reducers.
//  2. The groups of one family are disjoint; every group of a family has the same size.
//  3. Phases of one channel run in order; channels run at the same time and never touch each other's chunks.
//     Rounds are program order per (actor, channel), not barriers: a move waits only for the moves that filled its
//     chunk and for its own actor's earlier moves on that channel.
//  4. Nothing here has size ranks x rounds. moves, edges and longest_chain (moves.h, edges.h, chain.h) are generated on
//     demand from the same few numbers, and a test proves for every algorithm that they agree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"

namespace busbar::collectives {

enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kSendRecv,
  kAllToAllV
};
const char* name_of(Collective op);  ///< "all_reduce", ...
/// Our names and those of nccl-tests: "all_reduce", "alltoall", "sendrecv", "all_reduce_perf", in any case.
Result<Collective> parse_collective(std::string_view name);

/// Where a chunk is stored. No move writes an input; scratch starts empty. An output chunk that no move has written
/// holds the actor's own input chunk, if it has one: a local copy, which crosses no link and is not scheduled. In a
/// reduce only the root has an output; where a phase uses the output, other ranks use scratch.
enum class Buffer : std::uint8_t { kInput, kOutput, kScratch };

/// One digit of a mixed-radix number of groups or members.
struct Axis {
  std::uint32_t extent = 1;
  std::uint32_t actor_stride = 0;  ///< added to the actor per step along this axis
  std::uint32_t chunk_stride = 0;  ///< added to the group's first chunk per step (outer axes only)
  bool operator==(const Axis&) const = default;
};

/// A family of disjoint groups: 8,192 groups of 8 cost bytes, not megabytes.
/// Group g and member m are mixed-radix numbers over `outer` and `inner`, first axis fastest;
/// actor(g, m) = base + sum of digit x actor_stride. Irregular groups list their actors in `listed` instead.
struct GroupFamily {
  std::uint32_t base = 0;
  std::vector<Axis> outer;            ///< empty: one group
  std::vector<Axis> inner;            ///< empty: groups of one member
  std::vector<std::uint32_t> order;   ///< member at each position of the ring or chain; empty: identity
  std::vector<std::uint32_t> listed;  ///< group-major actors; empty: affine
  std::uint32_t listed_groups = 0;

  std::uint32_t groups() const;
  std::uint32_t size() const;
  std::uint32_t actor(std::uint32_t group, std::uint32_t member) const;
  /// The member at `position` of the ring or chain.
  std::uint32_t member_at(std::uint32_t position) const { return order.empty() ? position : order[position]; }
  /// First chunk of `group` relative to the phase's chunk_base.
  std::uint32_t chunk_offset(std::uint32_t group) const;
  bool operator==(const GroupFamily&) const = default;
};

/// n consecutive ranks as one group.
GroupFamily one_group(std::uint32_t n);

enum class Pattern : std::uint8_t {
  kRingReduceScatter,  ///< n-1 rounds; member m ends with piece m reduced over the group
  kRingAllGather,      ///< n-1 rounds; member m starts with piece m, all end with all pieces
  kChainBroadcast,     ///< position root -> root+1 -> ...: one piece, n-1 hops
  kChainReduce,        ///< towards position root: one piece, n-1 hops
  kTreeReduce,         ///< up the binary tree `tree` of the group to its root, or up a given one: one piece
  kTreeBroadcast,      ///< down the same tree; tree_shape.h defines the shapes
  // Stepwise patterns: sends.h defines which member sends how many pieces to whom in which round.
  kHalvingReduceScatter,  ///< ceil(log2 n) rounds with halved ranges; any n
  kDoublingAllGather,     ///< the same backwards
  kBruckAllGather,        ///< ceil(log2 n) rounds at distances 1, 2, 4 ...
  kPatAllGather,          ///< ceil(log2 n) rounds, the farthest first
  kPatReduceScatter,      ///< the same backwards
  kBinomialScatter,       ///< piece m from position root to member m, ceil(log2 n) rounds
  kBinomialGather,        ///< the same backwards
  kBruckAllToAll,         ///< piece m n + k from member m to k over up to log2 n others
  kPairwiseAllToAll,      ///< n-1 rounds: in round r to the member r + 1 positions further on
  // All at once in one round; each pair of members is independent (Coupling::kFree).
  kDirectReduceScatter,
  kDirectAllGather,
  kDirectAllToAll,
  kDirectAllReduce,  ///< every member sends all `span` chunks to every other, which adds them
  kDirectShift,      ///< every member sends its piece to the next member, the last to the first
  kDirectGather,
  kDirectScatter,
  // Between the members and the reducer of their group (actor Phase::hub + group). One round each.
  kHubReduce,     ///< every member sends all `span` chunks up, the hub adds
  kHubMulticast,  ///< the hub sends all `span` chunks to every member
  kHubGather,     ///< member m sends piece m up
  kHubScatter,    ///< the hub sends piece m to member m
  kHubUp,         ///< position root sends all `span` chunks up
  kHubDown,       ///< the hub sends all `span` chunks to position root
};

/// How the connections of one phase and group depend on each other when other traffic shares their links.
enum class Coupling : std::uint8_t {
  kChain,  ///< all progress together: one fluid, one rate
  kFree,   ///< each ends by itself and then frees its links
};
Coupling coupling_of(Pattern pattern);
/// Whether moves, edges and chain come from sends.h; rings, chains and trees have their own code.
bool is_stepwise(Pattern pattern);
bool is_tree(Pattern pattern);
/// Whether the pattern joins members with a reducer.
bool uses_hub(Pattern pattern);
/// Whether a rank adds arriving data to its own; if not, it keeps arriving data unchanged.
bool adds_at_ranks(Pattern pattern);
const char* name_of(Pattern pattern);  ///< "ring reduce-scatter", ...

/// A pattern over all groups of a family at once.
/// Ring patterns cut a group's chunks into size() pieces of `span` chunks, piece m owned by member m:
/// piece m of group g = [chunk_base + chunk_offset(g) + m*span, +span). The other patterns move all `span` chunks of
/// the group, whatever its size, as one piece: [chunk_base + chunk_offset(g), +span).
struct Phase {
  Pattern pattern{};
  std::uint16_t channel = 0;
  std::uint16_t family = 0;  ///< index into Schedule::families
  std::uint32_t chunk_base = 0;
  std::uint32_t span = 1;
  std::uint32_t root = 0;           ///< position of the root (chains and trees), else 0
  std::uint8_t tree = 0;            ///< trees: 0, its mate 1, or its mate with the same root 2 (tree_shape.h)
  std::uint16_t given = 0;          ///< trees: 1 + index in Schedule::trees; 0: the shape is computed
  Buffer source = Buffer::kInput;   ///< holds an actor's data before the phase: to send first, or to add to
  Buffer work = Buffer::kOutput;    ///< takes arriving data, and data that was just received is sent from here
  Buffer result = Buffer::kOutput;  ///< takes the final sum of a member's reduced piece instead of `work`
  bool at_root = false;             ///< multicast: nothing is sent to position root
  std::uint32_t hub = 0;            ///< hub patterns: the reducer of group 0; group g has hub + g
};

/// A tree of any shape over the positions of a group. Node 0 is the root, and parents come before their children.
struct GivenTree {
  std::vector<std::uint32_t> position;  ///< of each node
  std::vector<std::uint32_t> parent;    ///< node above each node; of node 0: 0
};

/// Number of chunks that each ordered pair of ranks exchanges in an all-to-all: by rule, or by matrix.
struct PairCounts {
  std::uint32_t hot = 0;  ///< each of ranks 0 to hot - 1 receives `hot_chunks` chunks per sender, others one
  std::uint32_t hot_chunks = 1;
  std::vector<std::uint32_t> begin;  ///< by source n + destination: first chunk; n n + 1 entries; empty: the rule

  std::uint32_t first(std::uint32_t n, std::uint32_t src, std::uint32_t dst) const;
  std::uint32_t count(std::uint32_t n, std::uint32_t src, std::uint32_t dst) const;
  bool equal() const { return hot == 0 && begin.empty(); }
  bool operator==(const PairCounts&) const = default;
};

/// Properties of an algorithm for other rooms. They use these and never test for a name (DESIGN 4.12).
struct AlgorithmTraits {
  bool takes_orders = false;             ///< ScheduleSpec::orders: its channels may visit the ranks in any order
  std::uint32_t channels_per_order = 1;  ///< channels that share one order and its NICs: 2 for a tree and its mate
  bool takes_dimensions = false;         ///< dimensions of a torus machine, or named: "torus(4,4,4)"
  bool names_levels = false;             ///< one algorithm per level, "hierarchical(ring,tree)": for two or more levels
  bool reduces_in_network = false;       ///< its reducers are switches, in a scale-up domain or in the fabric
  bool reduces_in_fabric = false;        ///< its reducers are switches of the fabric, one tree of them per channel
  bool sends_flags = false;              ///< supports the protocols that put flags among the data: LL and LL128
  bool customary = false;                ///< every library has it, so `auto` tries it if the library is unknown
  bool operator==(const AlgorithmTraits&) const = default;
};

struct Schedule {
  std::string algorithm;   ///< "ring", "tree", "hierarchical": for display, not for comparison
  AlgorithmTraits traits;  ///< of that algorithm; defaults for schedules made for one machine or read from a file
  Collective op{};
  std::uint32_t ranks = 0;
  std::uint32_t reducers = 0;
  std::uint32_t channels = 1;
  std::uint32_t chunks = 0;  ///< equal parts of the buffer S of nccl-tests (all-gather: of the gathered buffer)
  /// For all-to-all, and send_recv of more than two ranks (else 0): chunks of one rank's buffer S (of the rank that
  /// sends most). `chunks` counts the chunks of all ranks, ordered by source and then destination, so that a chunk
  /// keeps its number wherever it goes. With 65,536 ranks, the maximum, `chunks` is UINT32_MAX: edges and chain need no
  /// numbers, but moves cannot be generated.
  std::uint32_t parts = 0;
  PairCounts pairs;            ///< only for all-to-all
  std::uint32_t root = 0;      ///< rank, for rooted collectives
  bool sends_nothing = false;  ///< some moves carry no data: they are left out, but their time counts
  /// Digits of a chunk number, first fastest. Each adds its `chunk_stride` to the chunk's place in the buffer, so that
  /// pieces scattered in the buffer have consecutive numbers. `actor_stride` is unused. Empty: chunk c is part c.
  std::vector<Axis> layout;
  /// If channels order their digits differently: one layout per channel. The last digit is the channel, whose chunks
  /// are [channel, channel + 1) x chunks / channels. `layout` is then empty.
  std::vector<std::vector<Axis>> channel_layouts;
  std::vector<GroupFamily> families;
  std::vector<GivenTree> trees;
  std::vector<Phase> phases;  ///< ordered by channel

  /// Chunks in S: a chunk has S / chunks_per_buffer() bytes.
  std::uint32_t chunks_per_buffer() const { return parts == 0 ? chunks : parts; }
  /// A chunk's place in the buffer, in chunks. Gathers and scatters: rank r owns parts [r, r + 1) x chunks / ranks.
  std::uint32_t part_of(std::uint32_t chunk) const;
};

}  // namespace busbar::collectives
