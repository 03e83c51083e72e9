// Steps and their data between processes as messages of a library.
//
// A plan says beforehand which messages come, so nothing but data is sent: a message's tag is its task, run and step.
// Invariants:
//  1. Of each thread whose steps others tell this actor, the next messages are awaited at the places where they belong.
//     A sender sends only what its receiver has room for, as the plan makes it wait, so no message comes too early.
//  2. Messages of a thread may arrive in any order; its counter passes a step when all before it have arrived.
//  3. A step is done when its messages need their data no longer.
// Meetings and what ranks tell each other go through the sockets by which they met; so does the death of a rank.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "busbar/runtime/internal/message_library.h"
#include "busbar/runtime/internal/tcp_wire.h"

namespace busbar::runtime {

class LibraryWire final : public Wire {
 public:
  /// All actors call it, and learn each other's addresses over `control`, which must outlive the wire. Errors: those of
  /// open_message_library(); kIo, an actor cannot be reached, or the run was ended.
  static Result<std::unique_ptr<LibraryWire>> open(Transport transport, const std::string& host, TcpWire& control,
                                                   std::uint32_t actor, Board& board);

  Counter* counters(std::uint32_t threads) override;
  void begin(std::uint32_t task, const Stage& stage) override;
  void end() override;
  bool send(std::uint32_t step, const std::byte* data) override;
  bool poll() override;
  void arrived(std::uint64_t round) override;
  void wait_for(std::uint32_t actor) override;
  /// The first error of the library; empty: none.
  const std::string& failure() const { return library_->failure(); }

 private:
  static constexpr std::size_t kAwaited = 16;  // of a thread; a connection has 8 slots
  /// Messages of one thread of another actor to this one.
  struct Inbox {
    std::uint32_t thread = 0;
    std::vector<std::uint32_t> steps;       ///< of one run, in order
    std::uint64_t awaited = 0, passed = 0;  ///< messages of all runs
    std::array<Message, kAwaited> messages;
  };
  /// Messages of the step that a thread of this actor has performed.
  struct Outbox {
    std::uint32_t started = 0;
    std::vector<Message> messages;  ///< per receiver
  };
  LibraryWire(std::unique_ptr<MessageLibrary> library, TcpWire& control, std::uint32_t actor, Board& board)
      : control_(control), actor_(actor), board_(board), library_(std::move(library)) {}
  std::uint64_t tag(std::uint64_t run, std::uint32_t step) const;
  std::size_t bytes_to(std::uint32_t actor, std::uint32_t step) const;
  bool await_next(Inbox& in);
  void take(Inbox& in);
  const Inbox* not_come() const;

  TcpWire& control_;
  std::uint32_t actor_, task_ = 0, polls_ = 0;
  Board& board_;
  Stage stage_;
  Csr<std::uint32_t> told_;
  std::vector<Counter> counters_;
  std::vector<std::unique_ptr<Inbox>> inboxes_;
  std::vector<Outbox> outboxes_;             ///< per thread
  std::unique_ptr<MessageLibrary> library_;  ///< goes first, as it may still write to messages
};

}  // namespace busbar::runtime
