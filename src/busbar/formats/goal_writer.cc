#include <fmt/core.h>

#include <map>

#include "busbar/formats/goal.h"

namespace busbar::formats {
namespace {

/// Labels: s, r and c with the task's number for sends, receives and work; x and y for messages that only signal.
class GoalWriter {
 public:
  explicit GoalWriter(const program::MessageGraph& g) : g_(g), text_(g.ranks) {}

  Result<std::string> write() {
    for (std::uint32_t t = 0; t < g_.tasks.size(); ++t) {
      const program::MessageTask& m = g_.tasks[t];
      if (m.from == program::MessageTask::kSwitch || m.to == program::MessageTask::kSwitch)
        return Error{ErrorCode::kUnsupported, "GOAL has no switches that reduce", {}};
      if (m.is_work()) {
        const std::int64_t ps = m.work.in_ps();
        const std::string cpu = m.unit == program::MessageTask::kNoUnit ? "" : fmt::format(" cpu {}", m.unit);
        text_[m.from] += fmt::format("c{}: calc {}{}\n", t, ps / 1000 + (ps % 1000 > 0), cpu);
      } else {
        const std::uint32_t tag = tags_[{m.from, m.to}]++;
        const std::string nic = m.channel == 0 ? "" : fmt::format(" nic {}", m.channel);
        text_[m.from] += fmt::format("s{}: send {}b to {} tag {}{}\n", t, count(m.bytes), m.to, tag, nic);
        text_[m.to] += fmt::format("r{}: recv {}b from {} tag {}{}\n", t, count(m.bytes), m.from, tag, nic);
      }
    }
    for (std::uint32_t t = 0; t < g_.tasks.size(); ++t)
      for (const program::TaskEdge& e : g_.after.row(t)) depend(t, e);
    std::string out = fmt::format("num_ranks {}\n", g_.ranks);
    for (std::uint32_t r = 0; r < g_.ranks; ++r) out += fmt::format("\nrank {} {{\n{}}}\n", r, text_[r]);
    return out;
  }

 private:
  void depend(std::uint32_t t, const program::TaskEdge& e) {
    const program::MessageTask& m = g_.tasks[t];
    const program::MessageTask& before = g_.tasks[e.task];
    const bool arrives = !before.is_work() && e.event == program::TaskEvent::kDone;
    const std::uint32_t where = arrives ? before.to : before.from;
    const std::string own = fmt::format("{}{}", m.is_work() ? 'c' : 's', t);
    const std::string other = fmt::format("{}{}", before.is_work() ? 'c' : arrives ? 'r' : 's', e.task);
    const char* word = e.event == program::TaskEvent::kStarted ? "irequires" : "requires";
    if (where == m.from) {
      text_[where] += fmt::format("{} {} {}\n", own, word, other);
      return;
    }
    const std::uint32_t tag = tags_[{where, m.from}]++, n = tellers_++;
    text_[where] += fmt::format("x{}: send 0b to {} tag {}\nx{} {} {}\n", n, m.from, tag, n, word, other);
    text_[m.from] += fmt::format("y{}: recv 0b from {} tag {}\n{} requires y{}\n", n, where, tag, own, n);
  }

  const program::MessageGraph& g_;
  std::vector<std::string> text_;  ///< per rank
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> tags_;
  std::uint32_t tellers_ = 0;
};

}  // namespace

Result<std::string> write_goal(const program::MessageGraph& graph, const program::CollectiveCall* call) {
  BUSBAR_ASSIGN(std::string text, GoalWriter(graph).write());
  if (call != nullptr)
    text = fmt::format("// collective {} algorithm {} protocol {} root {} bytes {}\n", collectives::name_of(call->op),
                       call->algorithm, program::name_of(call->protocol), call->root, count(call->bytes)) +
           text;
  return text;
}

}  // namespace busbar::formats
