#include "busbar/packet/internal/threads.h"

#include <array>
#include <barrier>
#include <memory>
#include <thread>

namespace busbar::packet {
namespace {

/// What a part tells the others between two windows. It has a cache line of its own.
struct alignas(64) Word {
  Ps next = 0;           ///< its next event, or that of a packet it has sent
  Ps turns = INT64_MAX;  ///< the next turn of a packet that waits to go to another part
  Ps end = 0;            ///< of its last flow
  std::uint64_t finished = 0, delivered = 0, silences = 0;
  std::uint64_t hops = 0;
  bool stop = false, changes = false;  ///< told to stop; faults are still to begin or to end
};

class Windows {
 public:
  Windows(Wiring& wiring, Traffic& traffic, const Profile& profile, const NetworkSplit& split, int bucket_bits,
          const PacketOptions& options, double hops_expected)
      : split_(split),
        options_(options),
        hops_expected_(hops_expected),
        flows_(traffic.size()),
        after_(ends_after(wiring)),
        patience_(profile.network.faults.empty() ? INT64_MAX : kStillTimeouts * profile.hosts.timeout),
        meeting_(static_cast<std::ptrdiff_t>(split.parts)) {
    for (std::uint32_t p = 0; p < split.parts; ++p) mail_.push_back(std::make_unique<Mail>(split.parts));
    for (std::uint32_t p = 0; p < split.parts; ++p) {
      Wiring& own = profile.network.faults.empty() ? wiring : *wirings_.emplace_back(std::make_unique<Wiring>(wiring));
      parts_.push_back(std::make_unique<RunningPart>(own, traffic, profile, bucket_bits, NetworkPart{&split, p}));
      parts_[p]->network.join(parts_[p]->part, *mail_[p]);
    }
    for (auto& words : words_) words.resize(split.parts);
  }

  /// False: no packet arrives any more.
  bool run() {
    std::vector<std::thread> others;
    for (std::uint32_t p = 1; p < split_.parts; ++p) others.emplace_back([this, p] { run_part(p); });
    run_part(0);
    for (std::thread& t : others) t.join();
    return !stuck_;
  }
  std::vector<RunningPart*> parts() const {
    std::vector<RunningPart*> all;
    for (const auto& p : parts_) all.push_back(p.get());
    return all;
  }

 private:
  /// The words of all parts combined, the same for each of them.
  struct Sum {
    Ps next = INT64_MAX, end = 0;
    std::uint64_t finished = 0, delivered = 0, silences = 0, hops = 0;
    bool stop = false, changes = false;
  };
  /// When packets last arrived, as far as a part has looked.
  struct News {
    Ps window = 0, last = 0;  ///< start of the window before; of the last one with an arrival
    std::uint64_t delivered = 0, silences = 0;
  };
  /// Whether nothing arrives any more. With faults this holds no later than Run::stuck(), which then decides.
  bool silent(const Sum& sum, News& news) const {
    if (sum.delivered != news.delivered) {
      news.silences = sum.silences;
      news.last = news.window;
    }
    news.delivered = sum.delivered;
    news.window = sum.next;
    if (sum.finished < flows_ && sum.next == INT64_MAX) return true;
    if (patience_ == INT64_MAX) return sum.silences - news.silences > flows_;
    return !sum.changes && sum.finished < flows_ && sum.next + split_.lookahead - news.last > patience_;
  }

  void run_part(std::uint32_t number) {
    RunningPart& part = *parts_[number];
    part.hosts.begin();
    part.network.begin_faults();
    News news;
    for (std::uint32_t turn = 0;; turn ^= 1) {
      speak(number, words_[turn][number]);
      meeting_.arrive_and_wait();
      const Sum sum = add(words_[turn]);
      const bool done = sum.finished == flows_, still = silent(sum, news);
      const Ps last = done ? sum.end + after_ : INT64_MAX;
      if (still || sum.stop || sum.next > last) {
        if (number == 0) stuck_ = still && !done;
        if (done) part.network.close(last + 1);
        return;
      }
      if (number == 0 && options_.progress)
        options_.progress({SimTime::at(Duration::ps(sum.next)), sum.finished, flows_, sum.hops, hops_expected_});
      for (std::uint32_t from = 0; from < split_.parts; ++from) {
        std::vector<Packet>& box = mail_[from]->box(turn, number);
        for (const Packet& p : box) part.network.receive(p);
        box.clear();
      }
      const Ps limit =
          std::min(last, sum.next > INT64_MAX - split_.lookahead ? INT64_MAX : sum.next + split_.lookahead - 1);
      for (EventQueue::Event e{}; part.events.pop_until(limit, e); ++part.out.events) part.take(e);
      words_[turn ^ 1][number].turns = part.network.hand_over_until(limit == INT64_MAX ? limit : limit + 1);
    }
  }
  void speak(std::uint32_t number, Word& w) {
    const RunningPart& part = *parts_[number];
    w.next = std::min({part.events.next_time(), mail_[number]->close(), w.turns});
    w.end = part.out.end.since_start().in_ps();
    w.finished = part.hosts.finished();
    w.delivered = part.hosts.delivered();
    w.silences = part.hosts.silences();
    w.hops = part.network.hops();
    w.changes = part.network.changes_to_come();
    w.stop = number == 0 && options_.stop != nullptr && *options_.stop != 0;
  }
  static Sum add(const std::vector<Word>& words) {
    Sum s;
    for (const Word& w : words) {
      s.next = std::min(s.next, w.next);
      s.end = std::max(s.end, w.end);
      s.finished += w.finished;
      s.delivered += w.delivered;
      s.silences += w.silences;
      s.hops += w.hops;
      s.stop = s.stop || w.stop;
      s.changes = s.changes || w.changes;
    }
    return s;
  }

  const NetworkSplit& split_;
  const PacketOptions& options_;
  const double hops_expected_;
  const std::uint64_t flows_;
  const Ps after_, patience_;
  bool stuck_ = false;  ///< written by part 0, read after all threads have ended
  std::vector<std::unique_ptr<Mail>> mail_;
  std::vector<std::unique_ptr<Wiring>>
      wirings_;  ///< per part if faults change routes: each part does so in its own time
  std::vector<std::unique_ptr<RunningPart>> parts_;
  std::array<std::vector<Word>, 2> words_;  ///< used in turn, as in Mail
  std::barrier<> meeting_;
};

}  // namespace

std::optional<PacketResult> run_on_threads(Wiring& wiring, Traffic& traffic, const Profile& profile,
                                           const NetworkSplit& split, int bucket_bits, const PacketOptions& options,
                                           double hops_expected) {
  Windows windows(wiring, traffic, profile, split, bucket_bits, options, hops_expected);
  if (!windows.run()) return std::nullopt;
  const std::vector<RunningPart*> parts = windows.parts();
  return collect(parts, traffic);
}

}  // namespace busbar::packet
