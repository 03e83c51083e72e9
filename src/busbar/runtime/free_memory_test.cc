#include "busbar/runtime/free_memory.h"

#include <gtest/gtest.h>

namespace busbar::runtime {
namespace {

TEST(FreeMemory, IsWhatTheKernelCallsAvailable) {
  EXPECT_EQ(available_bytes("MemTotal:       16384000 kB\nMemFree:          512000 kB\nMemAvailable:    1024 kB\n"),
            1u << 20);
  EXPECT_FALSE(available_bytes("MemTotal: 16384000 kB\n").has_value());  // kernels before 3.14
  EXPECT_FALSE(available_bytes("").has_value());
}

TEST(FreeMemory, OfThisHostIsNotNothing) {
  if (const auto bytes = free_memory()) EXPECT_GT(*bytes, 1u << 20);
}

}  // namespace
}  // namespace busbar::runtime
