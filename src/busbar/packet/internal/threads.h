// The parts of a network, each on a thread of its own.
#pragma once

#include <array>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <thread>

#include "busbar/packet/internal/running_part.h"
#include "busbar/packet/internal/spin_barrier.h"

namespace busbar::packet {

/// What a part tells the others between two windows. It has a cache line of its own.
struct alignas(64) PartWord {
  Ps now = 0;   ///< its last event
  Ps next = 0;  ///< its next event, or that of a packet it has sent or will send
  Ps end = 0;   ///< of its last flow
  std::uint64_t finished = 0, delivered = 0, silences = 0;
  std::uint64_t hops = 0;
  std::uint32_t ended_blocks = 0;
  bool stop = false, changes = false;  ///< told to stop; faults are still to begin or to end
};

/// Conservative: all parts run through the same windows of time and exchange packets between windows. A window is as
/// long as the shortest latency of a cable between parts. The result equals that of one thread except for `events`.
/// A part on its own has one window, which ends with the run.
///
/// Thread rules: part 0 runs on the caller's thread, which also calls `progress`. While no run() is under way the other
/// threads wait, and the caller may change everything.
/// Source: Chandy and Misra, "Distributed simulation", IEEE Trans. Software Engineering 1979, with windows as in
/// Lubachevsky, CACM 1989.
class PartThreads {
 public:
  PartThreads(Wiring& wiring, Traffic& traffic, const Profile& profile, const NetworkSplit& split, int bucket_bits,
              const PacketOptions& options, double hops_expected);
  PartThreads(const PartThreads&) = delete;
  ~PartThreads();

  enum class Until : std::uint8_t {
    kAllEnded,   ///< all flows have ended, and what they left on the cables has arrived
    kBlockEnded  ///< a block has ended, a timer found a silent flow, or there is nothing left
  };
  enum class Why : std::uint8_t {
    kReached,
    kLimit,  ///< no event is left until `limit`
    kSilent  ///< kAllEnded: no packet arrives any more
  };
  Why run(Until until, Ps limit);
  /// Makes one block of the last `flows` of the traffic, which are new and start no earlier than the last window ended.
  void add_block(std::uint32_t flows);
  /// Takes the next block all of whose flows have arrived by `limit`, in order of (time, wire).
  std::optional<EndedBlock> take_ended(Ps limit);
  std::vector<RunningPart*> parts() const;
  /// The words of all parts as one, after the last run().
  const PartWord& sum() const { return sum_; }

 private:
  /// Each part has a copy, for the next run may be asked for while a part still leaves the last one.
  struct Ask {
    Until until = Until::kAllEnded;
    Ps from = 0, limit = INT64_MAX;
    std::uint64_t flows = 0, silences = 0;  ///< of all parts, so far
  };
  /// When packets last arrived, as far as a part has looked.
  struct LastArrival {
    Ps window = 0, last = 0;  ///< start of the window before; of the last one with an arrival
    std::uint64_t delivered = 0, silences = 0;
  };
  /// A part and what it has sent.
  struct Member {
    std::unique_ptr<Wiring> wiring;  ///< the part's own if faults change routes: each part does so in its own time
    std::unique_ptr<RunningPart> part;
    Outbox outbox;
    Ps now = 0;
    Ps first_sent = INT64_MAX;  ///< first arrival of the packets sent in the last window
    Ps turns = INT64_MAX;       ///< next turn of a packet that waits to go to another part
    std::uint32_t turn = 0;     ///< which of the two sets of words is in use, as in Outbox
    std::chrono::nanoseconds look =
        SpinBarrier::kLongest;    ///< how long its thread looks for the others before it sleeps
    std::exception_ptr failed{};  ///< what its thread threw: all end, and run() throws it
  };
  void wait_for_runs(std::uint32_t number);
  Why run_windows(std::uint32_t number);
  void run_window(std::uint32_t number, Ps end, bool done, const Ask& ask);
  void speak(std::uint32_t number, PartWord& word);
  static PartWord add(const std::vector<PartWord>& words);
  bool silent(const Ask& ask, const PartWord& sum, LastArrival& arrival) const;
  bool ends_early(const Ask& ask, const RunningPart& part, bool all_ended) const;

  const NetworkSplit split_;
  const PacketOptions& options_;
  const double hops_expected_;
  const Traffic& traffic_;
  const Ps after_, patience_;
  std::vector<std::unique_ptr<Member>> members_;
  std::array<std::vector<PartWord>, 2> words_;
  SpinBarrier gate_, between_windows_;  ///< before a run; between windows
  std::vector<std::thread> threads_;
  std::vector<std::uint32_t> parts_in_block_;  ///< parts to which flows of the block are under way
  std::vector<EndedBlock> last_in_block_, ended_;
  PartWord sum_;  ///< written by part 0
  Ask ask_;       ///< set before the gate opens
  bool quit_ = false;
};

/// Returns nullopt if no packet arrives any more, because one thread explains that better.
std::optional<PacketResult> run_on_threads(Wiring& wiring, Traffic& traffic, const Profile& profile,
                                           const NetworkSplit& split, int bucket_bits, const PacketOptions& options,
                                           double hops_expected);

}  // namespace busbar::packet
