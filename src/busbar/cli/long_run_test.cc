#include "busbar/cli/long_run.h"

#include <gtest/gtest.h>

namespace busbar::cli {
namespace {

TEST(LongRun, TheFirstInterruptStopsAtTheNextPartAndTheProgramLives) {
  LongRun run("rows", false);
  EXPECT_TRUE(run.go_on(1, 4));
  std::raise(SIGINT);
  EXPECT_FALSE(run.go_on(2, 4));
  EXPECT_TRUE(run.interrupted());
  EXPECT_NE(*LongRun::flag(), 0);
}

TEST(LongRun, ANewRunKnowsNothingOfTheInterruptOfAnother) {
  {
    LongRun run("rows", false);
    std::raise(SIGINT);
  }
  LongRun run("rows", false);
  EXPECT_TRUE(run.go_on(0, 1));
}

TEST(LongRun, TheStatusNamesTheSignal) {
  for (const int number : {SIGINT, SIGTERM}) {
    LongRun run("rows", false);
    EXPECT_EQ(run.status(1), 1);
    std::raise(number);
    EXPECT_EQ(run.status(1), 128 + number);
  }
}

TEST(LongRun, OutsideOfAnyTheStatusNamesTheSignalToo) {
  for (const int number : {SIGINT, SIGTERM}) {
    const auto interrupted = [number] {
      leave_on_signals();
      { const LongRun run("rows", false); }  // restores the previous handlers
      std::raise(number);
    };
    EXPECT_EXIT(interrupted(), testing::ExitedWithCode(128 + number), "");
  }
}

TEST(NamedTask, ASignalSaysWhatItEndedAndWhatIsKnown) {
  const auto interrupted = [] {
    leave_on_signals();
    const NamedTask task("timing the step of 8 GPUs", "no result is known", false);
    std::raise(SIGINT);
  };
  EXPECT_EXIT(interrupted(), testing::ExitedWithCode(130),
              "^busbar: interrupted while timing the step of 8 GPUs; no result is known\n$");
}

TEST(NamedTask, ATerminalShowsItWhenItIsLateAndNothingIsLeft) {
  testing::internal::CaptureStderr();
  {
    const NamedTask task("timing the step of 8 GPUs", "", true);
    std::raise(SIGALRM);  // as after two seconds
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "\r\033[Kbusbar: timing the step of 8 GPUs\r\033[K");
}

TEST(NamedTask, OnceItIsOverASignalSaysNothing) {
  const auto interrupted = [] {
    leave_on_signals();
    { const NamedTask task("timing", "", false); }
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(interrupted(), testing::ExitedWithCode(143), "^$");
}

TEST(LongRun, ASecondInterruptEndsTheProgram) {
  EXPECT_EXIT(
      {
        LongRun run("rows", false);
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(NamedTask, AfterItATerminalShowsWhatItShowedBefore) {
  testing::internal::CaptureStderr();
  {
    const NamedTask command("'survive' is at work", "", true);
    { const NamedTask task("timing", "", true); }
    std::raise(SIGALRM);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "\r\033[Kbusbar: 'survive' is at work\r\033[K");
}

TEST(LongRun, ATerminalShowsHowFarItIsWhileAPartTakesLong) {
  testing::internal::CaptureStderr();
  {
    LongRun run("variants", true);
    run.go_on(0, 3);
    std::raise(SIGALRM);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "\r\033[Kbusbar: 0 of 3 variants [--------------------]   0 %\r\033[K");
}

TEST(LongRun, WithoutATotalItSaysWhatItHas) {
  testing::internal::CaptureStderr();
  {
    LongRun run("layouts", true);
    EXPECT_TRUE(run.go_on_with(7, [] { return std::string(" timed"); }));
    std::raise(SIGALRM);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "\r\033[Kbusbar: 7 layouts timed\r\033[K");
}

TEST(LongRun, TheLineSaysHowFarAndHowLong) {
  EXPECT_EQ(progress_line("rows", 10, 40, 5), "10 of 40 rows [#####---------------]  25 %, 2 per s, 15 s left");
  EXPECT_EQ(progress_line("rows", 0, 40, 5), "0 of 40 rows [--------------------]   0 %");
  EXPECT_EQ(progress_line("rows", 40, 40, 5), "40 of 40 rows [####################] 100 %");
}

}  // namespace
}  // namespace busbar::cli
