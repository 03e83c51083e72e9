#include "busbar/doctor/internal/assignment.h"

#include <gtest/gtest.h>

#include <string>

namespace busbar::doctor {
namespace {

bool sets(const std::string& line) { return is_assignment(line, line.find("NCCL_")); }

TEST(Assignment, IsFoundInEnvironmentsAndCommands) {
  for (const char* const line :
       {"NCCL_X=1", "  NCCL_X=1", "export NCCL_X=1", "$ export A=2 NCCL_X=1", "+ export NCCL_X=1", "A=2 NCCL_X=1 ./x",
        "mpirun -np 16 -x NCCL_X=1 ./x", "docker run -e NCCL_X=1 image", "srun --export=ALL,NCCL_X=1 ./x",
        "root@n1:~# NCCL_X=1 ./x", "cd /x && NCCL_X=1 ./x", "  - NCCL_X=1", "\"Env\": [\"A=2\", \"NCCL_X=1\"]",
        "ENV NCCL_X=1", "Environment=\"NCCL_X=1\"", "# mpirun -x NCCL_X=1 ./x"})
    EXPECT_TRUE(sets(line)) << line;
}

TEST(Assignment, IsNotFoundInSentences) {
  for (const char* const line :
       {"Disable NVLS (NCCL_X=1) if you wish to avoid this error", "please try NCCL_X=1", "# NCCL_X=1",
        "I have to export NCCL_X=1 first", "set `NCCL_X=1`", "You may set NCCL_X=1 or", "Workaround: NCCL_X=1",
        "n1:1:2 [0] NCCL WARN use NCCL_X=1", "MY_NCCL_X=1", "with NCCL_X=1 it hangs", "NCCL_X=1 fixes it for me",
        "NCCL_X=1 A=2 did not help", "- NCCL_X=1 is what the manual says"})
    EXPECT_FALSE(sets(line)) << line;
}

TEST(Assignment, IsNotFoundInRowsOfPs) {
  for (const char* const line : {"root 4711 0.0 0.1 bash -c NCCL_X=1 python x.py",
                                 "root      4711  4700  0 10:12 ?   00:00:01 sh -c NCCL_X=1 ./x"})
    EXPECT_FALSE(sets(line)) << line;
}

TEST(Assignment, StaysOnTheHostOfMpirunUnlessAFlagPassesItOn) {
  const auto stays = [](const std::string& line) { return stays_on_host(line, line.find("NCCL_")); };
  for (const char* const line : {"NCCL_X=1 mpirun -np 2 --host n1,n2 ./x", "$ NCCL_X=1 A=2 mpirun --hostfile h ./x",
                                 "NCCL_X=1 mpirun -H n1:8,n2:8 -x NCCL_Y=1 ./x"})
    EXPECT_TRUE(stays(line)) << line;
  for (const char* const line : {"NCCL_X=1 mpirun -np 8 ./x", "NCCL_X=1 mpirun -H n1 ./x", "NCCL_X=1 ./x -H n1,n2",
                                 "NCCL_X=1 mpirun -x NCCL_X -H n1,n2 ./x", "mpirun -x NCCL_X=1 -H n1,n2 ./x"})
    EXPECT_FALSE(stays(line)) << line;
}

}  // namespace
}  // namespace busbar::doctor
