#include "busbar/runtime/internal/library_wire.h"

#include <algorithm>

#include "busbar/runtime/internal/told.h"

namespace busbar::runtime {

Result<std::unique_ptr<LibraryWire>> LibraryWire::open(Transport transport, const std::string& host, TcpWire& control,
                                                       std::uint32_t actor, Board& board) {
  BUSBAR_ASSIGN(std::unique_ptr<MessageLibrary> library, open_message_library(transport, host));
  for (std::uint32_t p = 0; p < board.actors(); ++p)
    if (p != actor) control.send_text(p, library->address());
  for (std::uint32_t p = 0; p < board.actors(); ++p) {
    if (p == actor) continue;
    std::optional<std::string> address;
    for (std::uint32_t i = 0; !(address = control.take_text(p)); ++i) {
      if (board.ended()) return Error{ErrorCode::kIo, "a rank was lost while others opened the network", {}};
      board.idle(i);
    }
    BUSBAR_RETURN_IF_ERROR(library->connect(p, *address));
  }
  while (!control.poll() && !board.ended()) board.idle(0);
  std::unique_ptr<LibraryWire> out(new LibraryWire(std::move(library), control, actor, board));
  board.use(out.get());
  return out;
}

Counter* LibraryWire::counters(std::uint32_t threads) {
  end();
  counters_ = std::vector<Counter>(threads);
  return counters_.data();
}

std::uint64_t LibraryWire::tag(std::uint64_t run, std::uint32_t step) const {
  constexpr int kStepBits = 32, kRunBits = 8;
  return (std::uint64_t{task_} << kRunBits | run % (1u << kRunBits)) << kStepBits | step;
}

std::size_t LibraryWire::bytes_to(std::uint32_t actor, std::uint32_t step) const {
  const auto writes = stage_.program->plan.writes.row(step);
  const bool any = std::any_of(writes.begin(), writes.end(), [&](const auto& w) { return w.rank == actor; });
  return any ? stage_.program->plan.steps[step].count * stage_.filling.chunk_bytes() : 0;
}

void LibraryWire::begin(std::uint32_t task, const Stage& stage) {
  task_ = task;
  stage_ = stage;
  const Executable& x = *stage.program;
  told_ = told_of(x);
  outboxes_ = std::vector<Outbox>(x.threads());
  for (std::uint32_t t = 0; t < x.threads(); ++t) {
    auto in = std::make_unique<Inbox>();
    in->thread = t;
    for (std::uint32_t s = x.first_step[t]; s < x.first_step[t + 1]; ++s) {
      const auto told = told_.row(s);
      if (x.plan.thread_rank[t] == actor_)
        outboxes_[t].messages.resize(std::max(outboxes_[t].messages.size(), told.size()));
      else if (std::find(told.begin(), told.end(), actor_) != told.end())
        in->steps.push_back(s);
    }
    if (!in->steps.empty()) inboxes_.push_back(std::move(in));
  }
  for (const auto& in : inboxes_) take(*in);
}

/// False: the library takes no more for now, or enough are awaited.
bool LibraryWire::await_next(Inbox& in) {
  if (in.awaited == in.passed + kAwaited) return false;
  const Executable& x = *stage_.program;
  const std::uint32_t step = in.steps[in.awaited % in.steps.size()];
  std::byte* to = nullptr;
  for (const collectives::PlanSlice& w : x.plan.writes.row(step))
    if (w.rank == actor_) to = stage_.memory[actor_] + x.place(w) * stage_.filling.chunk_bytes();
  if (!library_->receive(tag(in.awaited / in.steps.size(), step), to, bytes_to(actor_, step),
                         in.messages[in.awaited % kAwaited]))
    return false;
  ++in.awaited;
  return true;
}

void LibraryWire::take(Inbox& in) {
  const Executable& x = *stage_.program;
  do {
    while (in.passed < in.awaited && !in.messages[in.passed % kAwaited].under_way) {
      const std::uint64_t run = in.passed / in.steps.size();
      const std::uint32_t step = in.steps[in.passed % in.steps.size()];
      stage_.done[in.thread].value.store(run * x.steps_of(in.thread) + step - x.first_step[in.thread] + 1,
                                         std::memory_order_release);
      ++in.passed;
    }
  } while (await_next(in));
}

/// Where a message of the runs that this actor has ended has not come yet; null: all have.
const LibraryWire::Inbox* LibraryWire::not_come() const {
  std::uint64_t runs = 0;
  for (const std::uint32_t t : stage_.program->threads_of.row(actor_))
    if (const std::uint32_t steps = stage_.program->steps_of(t); steps > 0)
      runs = stage_.done[t].value.load(std::memory_order_relaxed) / steps;
  for (const auto& in : inboxes_)
    if (in->passed < runs * in->steps.size()) return in.get();
  return nullptr;
}

/// Others end the same runs, so what this actor has not needed comes too. What is awaited beyond never comes.
void LibraryWire::end() {
  std::uint32_t times = 0;
  while (const Inbox* in = inboxes_.empty() ? nullptr : not_come()) {
    if (board_.ended()) return;
    wait_for(stage_.program->plan.thread_rank[in->thread]);
    board_.idle(++times);
  }
  for (const auto& in : inboxes_)
    for (; in->passed < in->awaited; ++in->passed) {
      Message& m = in->messages[in->passed % kAwaited];
      if (m.under_way) library_->cancel(m);
      while (m.under_way && library_->failure().empty()) library_->progress();
    }
  inboxes_.clear();
}

bool LibraryWire::send(std::uint32_t step, const std::byte* data) {
  const std::uint32_t thread = stage_.program->plan.steps[step].thread;
  const auto told = told_.row(step);
  Outbox& out = outboxes_[thread];
  const std::uint64_t run =
      stage_.done[thread].value.load(std::memory_order_relaxed) / stage_.program->steps_of(thread);
  for (; out.started < told.size(); ++out.started) {
    const std::uint32_t peer = told[out.started];
    if (!library_->send(peer, tag(run, step), data, bytes_to(peer, step), out.messages[out.started])) break;
  }
  for (std::uint32_t i = 0; i < told.size(); ++i)
    if (i >= out.started || out.messages[i].under_way) {
      const auto threads = stage_.program->threads_of.row(told[i]);
      if (!threads.empty()) board_.seat(actor_).waits_for.store(threads[0], std::memory_order_relaxed);
      return false;
    }
  out.started = 0;
  return true;
}

bool LibraryWire::poll() {
  library_->progress();
  for (const auto& in : inboxes_) take(*in);
  return control_.on_one_host() || !control_.holds() || control_.poll();
}

void LibraryWire::arrived(std::uint64_t round) {
  if (!control_.on_one_host()) control_.arrived(round);
}

/// Sockets are asked for news of ranks that are lost less often than the library for messages.
void LibraryWire::wait_for(std::uint32_t actor) {
  constexpr std::uint32_t kEvery = 64;
  poll();
  if (!control_.on_one_host() && ++polls_ % kEvery == 0) control_.wait_for(actor);
}

}  // namespace busbar::runtime
