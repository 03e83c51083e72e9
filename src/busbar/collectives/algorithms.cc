#include "busbar/collectives/algorithms.h"

namespace busbar::collectives {

// Each is defined in the file of its name.
Result<Schedule> build_ring(const ScheduleSpec& spec);
Result<Schedule> build_tree(const ScheduleSpec& spec);
Result<Schedule> build_halving_doubling(const ScheduleSpec& spec);
Result<Schedule> build_rabenseifner(const ScheduleSpec& spec);
Result<Schedule> build_bruck(const ScheduleSpec& spec);
Result<Schedule> build_pat(const ScheduleSpec& spec);
Result<Schedule> build_direct(const ScheduleSpec& spec);
Result<Schedule> build_pairwise(const ScheduleSpec& spec);
Result<Schedule> build_hierarchical(const ScheduleSpec& spec);
Result<Schedule> build_nvls(const ScheduleSpec& spec);
Result<Schedule> build_sharp(const ScheduleSpec& spec);
Result<Schedule> build_torus(const ScheduleSpec& spec);

namespace {

using enum Collective;

constexpr std::uint32_t kPieces = set_of(kAllReduce, kAllGather, kReduceScatter);
constexpr std::uint32_t kWithRoots = kPieces | set_of(kBroadcast, kReduce);

constexpr RegisteredAlgorithm kAlgorithms[] = {
    {"ring", kWithRoots, &build_ring, {.takes_orders = true, .sends_flags = true, .customary = true}},
    {"tree",
     set_of(kAllReduce, kBroadcast, kReduce, kGather, kScatter),
     &build_tree,
     {.takes_orders = true, .channels_per_order = 2, .sends_flags = true, .customary = true}},
    {"halving_doubling", kPieces, &build_halving_doubling},
    {"rabenseifner", set_of(kAllReduce, kBroadcast, kReduce), &build_rabenseifner},
    {"bruck", set_of(kAllGather, kAllToAll), &build_bruck},
    {"pat", set_of(kAllGather, kReduceScatter), &build_pat},
    {"direct", kWithRoots | set_of(kAllToAll, kAllToAllV, kGather, kScatter, kSendRecv), &build_direct},
    {"pairwise", set_of(kAllToAll, kAllToAllV), &build_pairwise},
    {"hierarchical", kWithRoots, &build_hierarchical, {.names_levels = true, .customary = true}},
    {"nvls", kWithRoots, &build_nvls, {.reduces_in_network = true}},
    {"sharp",
     set_of(kAllReduce, kBroadcast, kReduce),
     &build_sharp,
     {.reduces_in_network = true, .reduces_in_fabric = true}},
    {"torus", kPieces, &build_torus, {.takes_dimensions = true, .customary = true}},
};

}  // namespace

std::span<const RegisteredAlgorithm> registered_algorithms() { return kAlgorithms; }

}  // namespace busbar::collectives
