#include "busbar/packet/internal/threads.h"

#include <algorithm>
#include <utility>

namespace busbar::packet {

PartThreads::PartThreads(Wiring& wiring, Traffic& traffic, const Profile& profile, const NetworkSplit& split,
                         int bucket_bits, const PacketOptions& options, double hops_expected)
    : split_(split),
      options_(options),
      hops_expected_(hops_expected),
      traffic_(traffic),
      after_(ends_after(wiring)),
      patience_(profile.network.faults.empty() ? INT64_MAX : kStillTimeouts * profile.hosts.timeout),
      gate_(split.parts),
      between_windows_(split.parts) {
  for (std::uint32_t p = 0; p < split.parts; ++p) {
    Member& m = *members_.emplace_back(std::make_unique<Member>(Member{{}, {}, Outbox(split.parts)}));
    const bool own = split.parts > 1 && !profile.network.faults.empty();
    if (own) m.wiring = std::make_unique<Wiring>(wiring);
    const NetworkPart part = split.parts > 1 ? NetworkPart{&split_, p} : NetworkPart{};
    m.part = std::make_unique<RunningPart>(own ? *m.wiring : wiring, traffic, profile, bucket_bits, part);
    if (split.parts > 1) m.part->network.join(m.part->part, m.outbox);
    m.part->hosts.begin();
    m.part->network.begin_faults();
  }
  for (auto& words : words_) words.resize(split.parts);
  for (std::uint32_t p = 1; p < split.parts; ++p) threads_.emplace_back([this, p] { wait_for_runs(p); });
}

PartThreads::~PartThreads() {
  quit_ = true;
  gate_.arrive_and_wait(members_.front()->look);
  for (std::thread& t : threads_) t.join();
}

std::vector<RunningPart*> PartThreads::parts() const {
  std::vector<RunningPart*> all;
  for (const auto& m : members_) all.push_back(m->part.get());
  return all;
}

void PartThreads::add_block(std::uint32_t flows) {
  std::uint32_t parts = 0;
  for (const auto& m : members_) parts += m->part->hosts.add_block(flows) > 0 ? 1 : 0;
  parts_in_block_.push_back(parts);
  last_in_block_.push_back({static_cast<std::uint32_t>(last_in_block_.size()), 0, -1});
}

std::optional<EndedBlock> PartThreads::take_ended(Ps limit) {
  const auto earlier = [](const EndedBlock& a, const EndedBlock& b) {
    return std::pair(a.at, a.wire) < std::pair(b.at, b.wire);
  };
  for (const auto& m : members_) {
    for (const EndedBlock& e : m->part->hosts.ended_blocks()) {
      last_in_block_[e.block] = std::max(last_in_block_[e.block], e, earlier);
      if (--parts_in_block_[e.block] == 0) ended_.push_back(last_in_block_[e.block]);
    }
    m->part->hosts.ended_blocks().clear();
  }
  const auto first = std::min_element(ended_.begin(), ended_.end(), earlier);
  if (first == ended_.end() || first->at > limit) return std::nullopt;
  const EndedBlock out = *first;
  ended_.erase(first);
  return out;
}

PartThreads::Why PartThreads::run(Until until, Ps limit) {
  ask_ = {until, sum_.now, limit, traffic_.size(), sum_.silences};
  gate_.arrive_and_wait(members_.front()->look);
  const Why why = run_windows(0);
  for (const auto& m : members_)
    if (m->failed) std::rethrow_exception(m->failed);
  return why;
}

void PartThreads::wait_for_runs(std::uint32_t number) {
  for (;;) {
    gate_.arrive_and_wait(members_[number]->look);
    if (quit_) return;
    run_windows(number);
  }
}

/// Whether nothing arrives any more. With faults this holds no later than Run::stuck(), which then decides.
bool PartThreads::silent(const Ask& ask, const PartWord& sum, LastArrival& arrival) const {
  if (sum.delivered != arrival.delivered) {
    arrival.silences = sum.silences;
    arrival.last = arrival.window;
  }
  arrival.delivered = sum.delivered;
  arrival.window = sum.next;
  if (sum.finished < ask.flows && sum.next == INT64_MAX) return true;
  if (patience_ == INT64_MAX) return sum.silences - arrival.silences > ask.flows;
  const Ps window = members_.size() > 1 ? split_.lookahead : 0;
  return !sum.changes && sum.finished < ask.flows && sum.next - arrival.last + window > patience_;
}

/// A part on its own may stop within a window.
bool PartThreads::ends_early(const Ask& ask, const RunningPart& part, bool all_ended) const {
  if (members_.size() > 1) return false;
  if (ask.until == Until::kAllEnded) return !all_ended && part.hosts.finished() == ask.flows;
  return part.hosts.ended_blocks_waiting() > 0 || part.hosts.silences() != ask.silences;
}

/// All threads leave it after the same window, for they decide by the same words.
PartThreads::Why PartThreads::run_windows(std::uint32_t number) {
  Member& m = *members_[number];
  RunningPart& part = *m.part;
  const Ask ask = ask_;
  LastArrival arrival{ask.from, ask.from, 0, 0};
  for (;; m.turn ^= 1) {
    speak(number, words_[m.turn][number]);
    between_windows_.arrive_and_wait(m.look);
    const PartWord sum = add(words_[m.turn]);
    if (number == 0) sum_ = sum;
    const bool all = ask.until == Until::kAllEnded, done = all && sum.finished == ask.flows;
    const Ps last = done ? std::min(ask.limit, sum.end + after_) : ask.limit;
    if (!all && (sum.ended_blocks > 0 || sum.silences != ask.silences)) return Why::kReached;
    const bool still = all && silent(ask, sum, arrival);
    if (still || sum.stop || sum.next > last || sum.next == INT64_MAX) {
      if (done) part.network.close(last + 1);
      return done ? Why::kReached : still ? Why::kSilent : Why::kLimit;
    }
    if (number == 0 && options_.progress)
      options_.progress({SimTime::at(Duration::ps(sum.next)), sum.finished, ask.flows, sum.hops, hops_expected_});
    const Ps end =
        std::min(last, sum.next > INT64_MAX - split_.lookahead ? INT64_MAX : sum.next + split_.lookahead - 1);
    try {
      run_window(number, end, done, ask);
    } catch (...) {
      m.failed = std::current_exception();  // the others learn it when they meet next
    }
  }
}

void PartThreads::run_window(std::uint32_t number, Ps end, bool done, const Ask& ask) {
  Member& m = *members_[number];
  RunningPart& part = *m.part;
  for (const auto& from : members_) {
    std::vector<Packet>& box = from->outbox.box(m.turn ^ 1, number);
    for (const Packet& p : box) part.network.receive(p);
    box.clear();
  }
  for (EventQueue::Event e{}; !ends_early(ask, part, done) && part.events.pop_until(end, e); ++part.out.events) {
    m.now = e.time;
    part.take(e);
  }
  m.turns = part.network.hand_over_until(end == INT64_MAX ? end : end + 1);
  m.first_sent = m.outbox.close();
}

void PartThreads::speak(std::uint32_t number, PartWord& w) {
  const Member& m = *members_[number];
  const RunningPart& part = *m.part;
  w.now = m.now;
  w.next = std::min({part.events.next_time(), m.first_sent, m.turns});
  w.end = part.out.end.since_start().in_ps();
  w.finished = part.hosts.finished();
  w.delivered = part.hosts.delivered();
  w.silences = part.hosts.silences();
  w.hops = part.network.hops();
  w.ended_blocks = part.hosts.ended_blocks_waiting();
  w.changes = part.network.changes_to_come();
  w.stop = m.failed || (number == 0 && options_.stop != nullptr && *options_.stop != 0);
}

PartWord PartThreads::add(const std::vector<PartWord>& words) {
  PartWord s;
  s.next = INT64_MAX;
  for (const PartWord& w : words) {
    s.now = std::max(s.now, w.now);
    s.next = std::min(s.next, w.next);
    s.end = std::max(s.end, w.end);
    s.finished += w.finished;
    s.delivered += w.delivered;
    s.silences += w.silences;
    s.hops += w.hops;
    s.ended_blocks += w.ended_blocks;
    s.stop = s.stop || w.stop;
    s.changes = s.changes || w.changes;
  }
  return s;
}

std::optional<PacketResult> run_on_threads(Wiring& wiring, Traffic& traffic, const Profile& profile,
                                           const NetworkSplit& split, int bucket_bits, const PacketOptions& options,
                                           double hops_expected) {
  PartThreads threads(wiring, traffic, profile, split, bucket_bits, options, hops_expected);
  if (threads.run(PartThreads::Until::kAllEnded, INT64_MAX) == PartThreads::Why::kSilent) return std::nullopt;
  const std::vector<RunningPart*> parts = threads.parts();
  return collect(parts, traffic);
}

}  // namespace busbar::packet
