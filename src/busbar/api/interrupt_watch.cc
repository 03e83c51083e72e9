#include "busbar/api/internal/interrupt_watch.h"

#include <atomic>

namespace busbar::api {
namespace {

std::atomic<TimeLimit*> watched{nullptr};
struct sigaction handler_of_program {};

void on_interrupt(int number, siginfo_t* info, void* context) {
  if (TimeLimit* const limit = watched) limit->stop();
  const struct sigaction& before = handler_of_program;
  if ((before.sa_flags & SA_SIGINFO) != 0)
    before.sa_sigaction(number, info, context);
  else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    before.sa_handler(number);
}

}  // namespace

InterruptWatch::InterruptWatch(TimeLimit* limit) {
  TimeLimit* none = nullptr;
  watches_ = limit != nullptr && watched.compare_exchange_strong(none, limit);
  if (!watches_) return;
  struct sigaction action {};
  action.sa_sigaction = on_interrupt;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGINT, &action, &handler_of_program);
}

InterruptWatch::~InterruptWatch() {
  if (!watches_) return;
  sigaction(SIGINT, &handler_of_program, nullptr);
  watched = nullptr;
}

}  // namespace busbar::api
