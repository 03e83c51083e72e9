#include "busbar/cli/crash_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <stdexcept>

namespace busbar::cli {
namespace {

using testing::HasSubstr;

TEST(CrashReport, AnExceptionEndsInStatusTwoWithWhatToReport) {
  testing::internal::CaptureStderr();
  const auto throws = []() -> int { throw std::runtime_error("no such shelf"); };
  EXPECT_EQ(run_reporting_exceptions(throws, "busbar topo dgx-h100"), 2);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("busbar: stopped by an exception: no such shelf; this is a bug of Busbar"));
  EXPECT_THAT(said, HasSubstr("version: busbar "));
  EXPECT_THAT(said, HasSubstr("command: busbar topo dgx-h100\n"));
}

TEST(CrashReport, OtherwiseTheStatusIsThatOfTheCommand) {
  EXPECT_EQ(run_reporting_exceptions([] { return 1; }, "busbar"), 1);
}

TEST(CrashReport, TheProgramStillDiesByTheSignal) {
  for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) {
    const auto crash = [number] {
      report_crashes("busbar doctor 'my log'");
      std::raise(number);
    };
    EXPECT_EXIT(crash(), testing::KilledBySignal(number), "crashed by SIG.*(\n.*)*command: busbar doctor 'my log'\n");
  }
}

}  // namespace
}  // namespace busbar::cli
