#include "busbar/runtime/board.h"

#include <sched.h>

#include <new>

namespace busbar::runtime {
namespace {

void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

std::size_t Board::bytes(std::uint32_t actors) { return sizeof(Counter) * (1 + actors) + sizeof(Seat) * actors; }

Board::Board(void* memory, std::uint32_t actors, bool yields) : actors_(actors), yields_(yields) {
  stop_ = new (memory) Counter[1 + actors];
  arrived_ = stop_ + 1;
  seats_ = new (stop_ + 1 + actors) Seat[actors];
}

bool Board::meet(std::uint32_t actor) {
  const std::uint64_t round = arrived_[actor].value.load(std::memory_order_relaxed) + 1;
  arrived_[actor].value.store(round, std::memory_order_release);
  seat(actor).waits_for.store(Seat::kMeeting, std::memory_order_relaxed);
  if (courier_ != nullptr) courier_->arrived(round);
  for (std::uint32_t a = 0; a < actors_; ++a)
    for (std::uint32_t i = 0; arrived_[a].value.load(std::memory_order_acquire) < round; ++i) {
      if (ended()) return false;
      if (courier_ != nullptr) courier_->wait_for(a);
      idle(i);
    }
  for (std::uint32_t i = 0; courier_ != nullptr && !courier_->poll() && !ended(); ++i) idle(i);
  seat(actor).waits_for.store(Seat::kNothing, std::memory_order_relaxed);
  return true;
}

void Board::stay_away(std::uint32_t actor, std::uint32_t meetings) {
  std::atomic<std::uint64_t>& round = arrived_[actor].value;
  round.store(round.load(std::memory_order_relaxed) + meetings, std::memory_order_release);
}

/// A waiting actor spins for some 10 us before it offers its core: a system call costs more than most waits.
void Board::idle(std::uint32_t times) const {
  constexpr std::uint32_t kSpins = 256;
  if (!yields_ && times < kSpins)
    pause_core();
  else
    sched_yield();
}

}  // namespace busbar::runtime
