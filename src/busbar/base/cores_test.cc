#include "busbar/base/cores.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace busbar {
namespace {

TEST(ShareOut, ThrowsHereWhatACallOnAnyThreadThrows) {
  for (const std::size_t threads : {1, 4}) {
    std::atomic<int> calls{0};
    const auto work = [&](std::size_t item, std::size_t) {
      ++calls;
      if (item == 2) throw std::length_error("item 2");
    };
    EXPECT_THROW(share_out(1'000'000, threads, work), std::length_error);
    EXPECT_LT(calls, 1'000'000) << "no item is begun after the failure";
    calls = 0;
    share_out(100, threads, [&](std::size_t, std::size_t) { ++calls; });
    EXPECT_EQ(calls, 100);
  }
}

}  // namespace
}  // namespace busbar
