#include "busbar/plan/tie_measurement.h"

#include <gtest/gtest.h>

namespace busbar::plan {
namespace {

program::CollectiveCall over(collectives::Collective op, std::uint32_t members, std::uint32_t stride) {
  program::CollectiveCall c;
  c.op = op;
  c.bytes = Bytes{1 << 20};
  c.groups.inner = {{.extent = members, .actor_stride = stride}};
  return c;
}

TEST(TieMeasurement, RunsAllGroupsOfTheNodesThatOneGroupNeeds) {
  const auto command = [](collectives::Collective op, std::uint32_t members, std::uint32_t stride) {
    return nccl_tests_command(over(op, members, stride), 8);
  };
  EXPECT_EQ(command(collectives::Collective::kAllReduce, 16, 1),
            "mpirun -np 16 -N 8 all_reduce_perf -b 1048576 -e 1048576 -g 1");
  EXPECT_EQ(command(collectives::Collective::kAllGather, 4, 1),
            "mpirun -np 8 -N 8 -x NCCL_TESTS_SPLIT=\"DIV 4\" all_gather_perf -b 1048576 -e 1048576 -g 1");
  EXPECT_EQ(command(collectives::Collective::kAllToAll, 8, 4),
            "mpirun -np 32 -N 8 -x NCCL_TESTS_SPLIT=\"MOD 4\" alltoall_perf -b 1048576 -e 1048576 -g 1");
  EXPECT_EQ(command(collectives::Collective::kSendRecv, 2, 128),  // one GPU of each of two nodes, wherever they are
            "mpirun -np 16 -N 8 -x NCCL_TESTS_SPLIT=\"MOD 8\" sendrecv_perf -b 1048576 -e 1048576 -g 1");
  EXPECT_EQ(command(collectives::Collective::kAllReduce, 3, 1),
            "mpirun -np 3 -N 3 all_reduce_perf -b 1048576 -e 1048576 -g 1");
}

}  // namespace
}  // namespace busbar::plan
