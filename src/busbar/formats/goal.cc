#include "busbar/formats/goal.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace busbar::formats {
namespace {

constexpr std::int64_t kMostGoalRanks = 1 << 20;
constexpr std::size_t kMostOps = std::size_t{1} << 28;

class GoalReader {
 public:
  explicit GoalReader(LineSource& lines) : lines_(lines) { out_.file = lines.name(); }

  Result<GoalProgram> read() {
    std::string_view line;
    std::string text;
    while (lines_.next(line)) {
      text = without_comments(line);
      LineCursor c(trimmed(text));
      while (!c.at_end()) {
        BUSBAR_RETURN_IF_ERROR(statement(c));
        c.blanks();
      }
    }
    if (in_comment_) return error("a comment is not closed");
    if (rank_ >= 0) return error(fmt::format("rank {} is not closed", rank_));
    if (out_.ranks == 0) return error("no 'num_ranks'");
    std::stable_sort(out_.edges.begin(), out_.edges.end(),
                     [](const GoalEdge& a, const GoalEdge& b) { return a.op < b.op; });
    return std::move(out_);
  }

 private:
  struct Pending {
    std::string op, before;
    bool on_start = false;
    int line = 0;
  };

  Error error(std::string what) const { return invalid(std::move(what), lines_.where()); }
  Error at(int line, std::string what) const { return invalid(std::move(what), {out_.file, line, 0, ""}); }

  /// As write_goal() writes it.
  void note_comment(std::string_view comment) {
    LineCursor c(trimmed(comment));
    const auto value = [&](std::string_view word) {
      if (c.word() != word) return std::string_view();
      c.blanks();
      const std::string_view found = c.word();
      c.blanks();
      return found;
    };
    const auto op = collectives::parse_collective(value("collective"));
    const std::string algorithm(value("algorithm"));
    const auto protocol = program::parse_protocol(value("protocol"));
    std::int64_t root = 0, bytes = 0;
    const bool counts = LineCursor(value("root")).integer(root) && LineCursor(value("bytes")).integer(bytes);
    if (out_.ranks > 0 || !op.ok() || !protocol.ok() || !counts || root < 0 || root >= kMostGoalRanks || bytes < 0)
      return;
    out_.call.op = *op;
    out_.call.algorithm = algorithm;
    out_.call.protocol = *protocol;
    out_.call.root = static_cast<std::uint32_t>(root);
    out_.call.bytes = Bytes{static_cast<std::uint64_t>(bytes)};
  }

  std::string without_comments(std::string_view line) {
    std::string out;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string_view rest = line.substr(i);
      if (in_comment_) {
        if (rest.starts_with("*/")) in_comment_ = false, ++i;
      } else if (rest.starts_with("//")) {
        note_comment(rest.substr(2));
        break;
      } else if (rest.starts_with("/*")) {
        in_comment_ = true;
        ++i;
      } else {
        out += line[i];
      }
    }
    return out;
  }

  Status statement(LineCursor& c) {
    c.blanks();
    if (c.accept("}")) return close_rank();
    std::string_view first = c.until(" \t:{}");
    if (first.empty()) return error(fmt::format("'{}' is not a statement", c.rest().substr(0, 40)));
    if (first == "num_ranks") return num_ranks(c);
    if (rank_ < 0 && first == "rank") return open_rank(c);
    if (rank_ < 0) return error(fmt::format("'{}' outside of a rank", first.substr(0, 40)));
    std::string label;
    c.blanks();
    if (c.accept(":")) {
      label = first;
      c.blanks();
      first = c.until(" \t{}");
    } else if (c.accept("requires ")) {
      return depends(std::string(first), false, c);
    } else if (c.accept("irequires ")) {
      return depends(std::string(first), true, c);
    }
    return operation(label, first, c);
  }

  Status num_ranks(LineCursor& c) {
    c.blanks();
    if (out_.ranks != 0 || !c.integer(out_.ranks, 1, kMostGoalRanks))
      return error(fmt::format("'num_ranks' needs one number from 1 to {}", kMostGoalRanks));
    return {};
  }

  Status open_rank(LineCursor& c) {
    c.blanks();
    if (!c.integer(rank_, 0, std::int64_t{out_.ranks} - 1))
      return error(fmt::format("'rank' needs a number below num_ranks, {}", out_.ranks));
    c.blanks();
    return c.accept("{") ? Status() : Status(error("'{' is missing"));
  }

  Status close_rank() {
    if (rank_ < 0) return error("'}' closes nothing");
    for (const Pending& p : pending_) {
      const auto a = labels_.find(p.op), b = labels_.find(p.before);
      for (const auto& [it, name] : {std::pair{a, &p.op}, std::pair{b, &p.before}})
        if (it == labels_.end())
          return at(p.line, fmt::format("rank {} has no label '{}'", rank_, name->substr(0, 40)));
      if (a->second == b->second) return at(p.line, fmt::format("'{}' waits for itself", p.op.substr(0, 40)));
      out_.edges.push_back({a->second, b->second, p.on_start});
    }
    pending_.clear();
    labels_.clear();
    rank_ = -1;
    return {};
  }

  Status depends(std::string op, bool on_start, LineCursor& c) {
    c.blanks();
    const std::string_view before = c.until(" \t{}");
    if (before.empty()) return error("'requires' needs a label");
    pending_.push_back({std::move(op), std::string(before), on_start, lines_.number()});
    return {};
  }

  Status operation(const std::string& label, std::string_view word, LineCursor& c) {
    GoalOp op;
    op.rank = static_cast<std::uint32_t>(rank_);
    op.line = lines_.number();
    const char* preposition = nullptr;
    if (word == "send")
      op.kind = GoalKind::kSend, preposition = "to";
    else if (word == "recv")
      op.kind = GoalKind::kReceive, preposition = "from";
    else if (word == "calc")
      op.kind = GoalKind::kCalc;
    else
      return error(fmt::format("'{}' is not one of send, recv, calc, requires, irequires", word.substr(0, 40)));
    c.blanks();
    if (!c.integer(op.amount, 0, INT64_MAX))
      return error(fmt::format("'{}' needs a {}", word, preposition ? "size" : "time in ns"));
    c.accept("b");
    if (preposition != nullptr) {
      c.blanks();
      if (!c.accept(preposition)) return error(fmt::format("'{}' is missing", preposition));
      c.blanks();
      const bool any = op.kind == GoalKind::kReceive;
      if (!c.integer(op.peer, any ? -1 : 0, std::int64_t{out_.ranks} - 1))
        return error("no such rank to exchange with");
    }
    BUSBAR_RETURN_IF_ERROR(options(op, c));
    if (out_.ops.size() >= kMostOps) return error(fmt::format("more than {} operations", kMostOps));
    if (!label.empty() && !labels_.try_emplace(label, static_cast<std::uint32_t>(out_.ops.size())).second)
      return error(fmt::format("rank {} has label '{}' twice", rank_, label.substr(0, 40)));
    out_.ops.push_back(op);
    return {};
  }

  Status options(GoalOp& op, LineCursor& c) {
    while (true) {
      c.blanks();
      if (c.at_end() || c.rest()[0] == '}') return {};
      const std::string_view name = c.until(" \t{}");
      std::int64_t n = 0;
      c.blanks();
      if (!c.integer(n) || n < -1 || n > INT32_MAX)
        return error(fmt::format("'{}' needs a number", name.substr(0, 40)));
      if (name == "tag")
        op.tag = static_cast<std::int32_t>(n);
      else if (name == "cpu" && n >= 0)
        op.cpu = static_cast<std::uint32_t>(n);
      else if (name == "nic" && n >= 0 && n <= UINT16_MAX)
        op.nic = static_cast<std::uint16_t>(n);
      else
        add_unknown(out_.unknown, lines_.number(), fmt::format("word {}", name.substr(0, 40)));
    }
  }

  LineSource& lines_;
  GoalProgram out_;
  std::int64_t rank_ = -1;
  bool in_comment_ = false;
  std::unordered_map<std::string, std::uint32_t> labels_;  ///< for look-up only, never iterated
  std::vector<Pending> pending_;
};

using GoalRoute = std::tuple<std::uint32_t, std::uint32_t, std::int32_t>;  ///< from, to, tag

/// For each receive, the send that it matches.
Result<std::vector<std::uint32_t>> match(const GoalProgram& p) {
  std::vector<std::uint32_t> taken(p.ops.size(), kNone32);
  std::map<GoalRoute, std::vector<std::uint32_t>> sends;  // sends not matched yet, from index `next`
  std::map<GoalRoute, std::size_t> next;
  const auto wild = [](const GoalOp& o) { return o.peer < 0 || o.tag < 0; };
  for (std::uint32_t i = 0; i < p.ops.size(); ++i)
    if (p.ops[i].kind == GoalKind::kSend)
      sends[{p.ops[i].rank, static_cast<std::uint32_t>(p.ops[i].peer), p.ops[i].tag}].push_back(i);
  const auto none = [&](const GoalOp& o) {
    return invalid(o.peer < 0 ? std::string("no send matches this receive")
                              : fmt::format("rank {} has no send that matches this receive", o.peer),
                   {p.file, o.line, 0, ""});
  };
  for (const bool exact : {true, false})
    for (std::uint32_t i = 0; i < p.ops.size(); ++i) {
      const GoalOp& o = p.ops[i];
      if (o.kind != GoalKind::kReceive || wild(o) == exact) continue;
      std::uint32_t best = kNone32;
      GoalRoute from;
      const auto look = [&](const GoalRoute& route, const std::vector<std::uint32_t>& list) {
        const std::size_t at = next[route];
        if (at < list.size() && list[at] < best) best = list[at], from = route;
      };
      if (exact) {
        const GoalRoute route{static_cast<std::uint32_t>(o.peer), o.rank, o.tag};
        if (const auto it = sends.find(route); it != sends.end()) look(route, it->second);
      } else {
        for (const auto& [route, list] : sends)
          if (std::get<1>(route) == o.rank &&
              (o.peer < 0 || std::get<0>(route) == static_cast<std::uint32_t>(o.peer)) &&
              (o.tag < 0 || std::get<2>(route) == o.tag))
            look(route, list);
      }
      if (best == kNone32) return none(o);
      ++next[from];
      taken[i] = best;
    }
  for (const auto& [route, list] : sends)
    if (next[route] < list.size())
      return invalid(fmt::format("rank {} never receives this", std::get<1>(route)),
                     {p.file, p.ops[list[next[route]]].line, 0, ""});
  return taken;
}

}  // namespace

bool looks_like_goal(std::string_view head) {
  while (true) {
    const std::size_t at = head.find_first_not_of(" \t\r\n");
    if (at == head.npos) return false;
    head.remove_prefix(at);
    const std::size_t end = head.starts_with("//") ? head.find('\n') : head.starts_with("/*") ? head.find("*/", 2) : 0;
    if (end == 0) return head.starts_with("num_ranks");
    if (end == head.npos) return false;
    head.remove_prefix(end + 2 <= head.size() && head[end] == '*' ? end + 2 : end);
  }
}

Result<GoalProgram> read_goal(LineSource& lines) { return GoalReader(lines).read(); }

Result<program::MessageGraph> messages_of(const GoalProgram& p) {
  BUSBAR_ASSIGN(const std::vector<std::uint32_t> taken, match(p));
  program::MessageGraph g;
  g.ranks = p.ranks;
  std::vector<std::size_t> first(p.ops.size() + 1, 0);  // edge
  for (const GoalEdge& e : p.edges) ++first[e.op + 1];
  for (std::size_t i = 0; i < p.ops.size(); ++i) first[i + 1] += first[i];
  const auto wait = [&](const GoalEdge& e) {
    const GoalKind kind = p.ops[e.before].kind;
    const bool sends =
        kind == GoalKind::kSend && p.ops[e.before].rank != static_cast<std::uint32_t>(p.ops[e.before].peer);
    g.after.values.push_back({e.before, e.on_start ? program::TaskEvent::kStarted
                                        : sends    ? program::TaskEvent::kSent
                                                   : program::TaskEvent::kDone});
  };
  for (std::uint32_t i = 0; i < p.ops.size(); ++i) {
    const GoalOp& o = p.ops[i];
    const auto peer = static_cast<std::uint32_t>(o.peer);
    program::MessageTask t{o.rank, o.kind == GoalKind::kSend ? peer : o.rank};
    if (o.kind == GoalKind::kSend) t.bytes = Bytes{o.amount};
    t.channel = o.nic;
    if (o.kind == GoalKind::kCalc) {
      constexpr std::uint64_t kMostNs = INT64_MAX / 1'000 / 1'000'000;  // a million of these may be in sequence
      t.work = Duration::ns(static_cast<std::int64_t>(std::min(o.amount, kMostNs)));
      t.unit = o.cpu;
    }
    for (std::size_t e = first[i]; e < first[i + 1]; ++e) {
      const GoalEdge& edge = p.edges[e];
      if (edge.on_start && p.ops[edge.before].kind == GoalKind::kReceive)  // it starts when its predecessors end
        for (std::size_t f = first[edge.before]; f < first[edge.before + 1]; ++f) wait(p.edges[f]);
      else
        wait(edge);
    }
    if (o.kind == GoalKind::kReceive) g.after.values.push_back({taken[i], program::TaskEvent::kDone});
    g.after.close_row();
    g.tasks.push_back(t);
  }
  return g;
}

}  // namespace busbar::formats
