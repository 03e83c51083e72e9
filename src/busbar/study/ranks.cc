#include "busbar/study/ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "busbar/base/text.h"

namespace busbar::study {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause(1);  // between two checks for messages
constexpr std::chrono::seconds kHeartbeat(1);   // between messages of a worker that runs a cell
constexpr std::chrono::seconds kSilence(15);    // of a worker that is then lost
constexpr std::chrono::seconds kPatience(120);  // of a worker with a silent manager
// The first byte of a message. From workers: hello with the fingerprint of the study, a heartbeat, a row, and goodbye.
// From the manager: a cell, an answer to a heartbeat, the end of all cells, and after all goodbyes how to leave MPI.
constexpr char kHello = 'h', kAlive = 'a', kRow = 'r', kBye = 'b';
constexpr char kCell = 'c', kEnd = 'e', kFinish = 'f', kJustLeave = 'l';

/// Fields end with a zero byte; none contains one, as JSON and messages do not.
std::string pack(const StudyRow& row) {
  std::string out(1, kRow);
  for (const std::string& field :
       {std::to_string(row.cell), std::to_string(row.status), row.settings, row.message, row.result})
    out += field + '\0';
  return out;
}

std::optional<StudyRow> unpack(std::string_view text) {
  const auto fields = split_at(text.substr(1), '\0');
  StudyRow row;
  if (fields.size() != 6 || !is_number(fields[0], row.cell) || !is_number(fields[1], row.status)) return std::nullopt;
  row.settings = fields[2];
  row.message = fields[3];
  row.result = fields[4];
  return row;
}

std::string fingerprint(const std::string& study) { return std::to_string(std::hash<std::string>()(study)); }

class Manager {
 public:
  Manager(Peers& peers, const std::string& study, const std::vector<std::uint64_t>& cells, StudyStore& store)
      : peers_(peers), study_(fingerprint(study)), open_(cells.begin(), cells.end()), store_(store) {
    workers_.resize(static_cast<std::size_t>(peers.size()));
    for (Worker& w : workers_) w.heard = Clock::now();
  }

  Result<HandedOut> run(const std::function<bool(std::size_t, std::size_t)>& go_on) {
    const std::size_t total = open_.size();
    while (done_.size() < total && go_on(done_.size(), total)) {
      BUSBAR_RETURN_IF_ERROR(look());
      BUSBAR_RETURN_IF_ERROR(feed());
      if (out_.lost.size() + 1 == workers_.size())
        return Error{ErrorCode::kUnsupported, "every worker is lost; run the same command again to go on", {}};
    }
    ended_ = true;
    BUSBAR_RETURN_IF_ERROR(tell_all(kEnd));
    while (std::any_of(workers_.begin() + 1, workers_.end(), [](const Worker& w) { return !w.lost && !w.left; }))
      BUSBAR_RETURN_IF_ERROR(look());
    go_on(done_.size(), total);
    BUSBAR_RETURN_IF_ERROR(tell_all(out_.lost.empty() ? kFinish : kJustLeave));
    if (out_.lost.empty()) BUSBAR_RETURN_IF_ERROR(peers_.finish());
    return std::move(out_);
  }

 private:
  struct Worker {
    Clock::time_point heard;
    std::optional<std::uint64_t> cell;
    bool lost = false, idle = false, left = false;
  };

  /// Reads one message; without one, pauses and looks for silent workers.
  Status look() {
    BUSBAR_ASSIGN(const std::optional<PeerMessage> message, peers_.next());
    if (message) return read(*message);
    find_lost();
    std::this_thread::sleep_for(kPause);
    return {};
  }

  Status read(const PeerMessage& message) {
    Worker& w = workers_[static_cast<std::size_t>(message.from)];
    w.heard = Clock::now();
    if (std::exchange(w.lost, false)) {  // it was only slow
      std::erase(out_.lost, message.from);
      if (ended_) BUSBAR_RETURN_IF_ERROR(peers_.send(message.from, std::string(1, kEnd)));
    }
    switch (message.text.empty() ? '\0' : message.text[0]) {
      case kAlive:
        return peers_.send(message.from, std::string(1, kAlive));
      case kBye:
        w.left = true;
        return {};
      case kRow:
        BUSBAR_RETURN_IF_ERROR(keep(message.text));
        break;
      default:
        if (message.text != kHello + study_)
          return invalid(fmt::format("rank {} reads another text of the study; give all ranks one file", message.from));
    }
    w.cell.reset();
    w.idle = true;
    return {};
  }

  /// The first result of a cell counts; a second one is the same.
  Status keep(const std::string& text) {
    const std::optional<StudyRow> row = unpack(text);
    if (!row) return invalid("a worker sent no row; do all ranks run the same busbar?");
    return done_.insert(row->cell).second ? store_.put(*row) : Status();
  }

  Status feed() {
    for (std::size_t i = 1; i < workers_.size(); ++i) {
      while (!open_.empty() && done_.contains(open_.front())) open_.pop_front();
      Worker& w = workers_[i];
      if (open_.empty() || !w.idle || w.lost) continue;
      w.cell = open_.front();
      w.idle = false;
      open_.pop_front();
      BUSBAR_RETURN_IF_ERROR(peers_.send(static_cast<int>(i), kCell + std::to_string(*w.cell)));
    }
    return {};
  }

  void find_lost() {
    for (std::size_t i = 1; i < workers_.size(); ++i) {
      Worker& w = workers_[i];
      if (w.lost || w.left || Clock::now() - w.heard < kSilence) continue;
      w.lost = true;
      out_.lost.push_back(static_cast<int>(i));
      if (!w.cell) continue;
      open_.push_front(*w.cell);
      w.cell.reset();
      ++out_.repeated;
    }
  }

  Status tell_all(char word) {
    for (std::size_t i = 1; i < workers_.size(); ++i)
      if (!workers_[i].lost) BUSBAR_RETURN_IF_ERROR(peers_.send(static_cast<int>(i), std::string(1, word)));
    return {};
  }

  Peers& peers_;
  std::string study_;
  std::deque<std::uint64_t> open_;
  StudyStore& store_;
  std::vector<Worker> workers_;
  std::set<std::uint64_t> done_;
  HandedOut out_;
  bool ended_ = false;  ///< workers were told that no cell is left
};

}  // namespace

Result<HandedOut> hand_out(Peers& peers, const std::string& study_text, const std::vector<std::uint64_t>& cells,
                           StudyStore& store, const std::function<bool(std::size_t, std::size_t)>& go_on) {
  return Manager(peers, study_text, cells, store).run(go_on);
}

Status serve(Peers& peers, const std::string& study_text, const std::function<StudyRow(std::uint64_t)>& run) {
  std::future<StudyRow> running;  // on another thread, so that this one can send heartbeats
  Clock::time_point heard = Clock::now(), heartbeat_at = heard;
  BUSBAR_RETURN_IF_ERROR(peers.send(0, kHello + fingerprint(study_text)));
  while (Clock::now() - heard < kPatience) {
    BUSBAR_ASSIGN(const std::optional<PeerMessage> message, peers.next());
    if (message) heard = Clock::now();
    const char kind = message && !message->text.empty() ? message->text[0] : '\0';
    std::uint64_t cell = 0;
    if (kind == kCell && is_number(message->text.substr(1), cell)) running = std::async(std::launch::async, run, cell);
    if (kind == kEnd) {
      if (running.valid()) running.wait();  // the result is no longer needed
      running = {};
      BUSBAR_RETURN_IF_ERROR(peers.send(0, std::string(1, kBye)));
    }
    if (kind == kFinish) return peers.finish();
    if (kind == kJustLeave) return {};
    if (message) continue;
    if (!running.valid()) {
      std::this_thread::sleep_for(kPause);
    } else if (running.wait_for(kPause) == std::future_status::ready) {
      BUSBAR_RETURN_IF_ERROR(peers.send(0, pack(running.get())));
    }
    if (Clock::now() - heartbeat_at < kHeartbeat) continue;
    heartbeat_at = Clock::now();
    BUSBAR_RETURN_IF_ERROR(peers.send(0, std::string(1, kAlive)));
  }
  return Error{ErrorCode::kUnsupported, "the manager (rank 0) is silent; run the same command again to go on", {}};
}

}  // namespace busbar::study
