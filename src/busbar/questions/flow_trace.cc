#include "busbar/questions/flow_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "busbar/engine/flow/message_run.h"
#include "busbar/formats/comm_groups.h"
#include "busbar/formats/import.h"
#include "busbar/lowering/send_costs.h"
#include "busbar/packet/collective_flows.h"
#include "busbar/predict/predictor.h"

namespace busbar::questions {
namespace {

using Numbers = std::vector<std::uint32_t>;

/// Flows with dependencies in any order.
class FlowBuilder {
 public:
  FlowBuilder(predict::Predictor& machine, const std::string& file, std::uint32_t first)
      : machine_(machine), file_(file), first_(first) {
    const program::ProtocolModel& p = machine.protocol();
    named_.list.reach = {p.gpudirect, p.peer_access};
    named_.list.shares = lowering::rate_shares(p);
  }
  predict::Predictor& machine() { return machine_; }
  std::uint32_t first() const { return first_; }
  topology::DeviceId gpu(std::uint32_t rank) const { return machine_.placement().gpu(first_ + rank); }
  Error error(std::string what) const { return invalid(std::move(what), {file_, 0, 0, ""}); }
  Status check_ranks(std::uint32_t ranks) const {
    if (first_ + ranks <= machine_.ranks()) return {};
    return error(fmt::format("has {} ranks from GPU {} on, {} has {} GPUs", ranks, first_, machine_.cluster().name,
                             machine_.ranks()));
  }

  std::uint32_t add(const program::ListedFlow& flow, Numbers after, std::string id) {
    named_.list.flows.push_back(flow);
    after_.push_back(std::move(after));
    named_.ids.push_back(std::move(id));
    return size() - 1;
  }
  std::uint32_t add_work(std::uint32_t rank, Duration time, Numbers after, std::string id) {
    program::ListedFlow f;
    f.from = f.to = gpu(rank);
    f.nic_from = f.nic_to = kNone<topology::DeviceId>;
    f.overhead = time;
    return add(f, std::move(after), std::move(id));
  }
  std::uint32_t add_message(std::uint32_t from, std::uint32_t to, std::uint32_t channel, std::uint64_t bytes,
                            Numbers after, std::string id) {
    program::ListedFlow f;
    f.from = gpu(from);
    f.to = gpu(to);
    f.nic_from = machine_.placement().nic(first_ + from, channel);
    f.nic_to = machine_.placement().nic(first_ + to, channel);
    f.bytes = Bytes{bytes};
    f.overhead = packet::overhead_between(
        machine_.router(), lowering::costs_of(machine_.protocol(), program::Protocol::kSimple), f.from, f.to);
    return add(f, std::move(after), std::move(id));
  }
  void wait(std::uint32_t flow, std::uint32_t for_flow) { after_[flow].push_back(for_flow); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(named_.ids.size()); }

  Result<NamedFlows> finish() {
    if (size() > packet::kMostMoves)
      return unsupported(fmt::format("more than {} messages and pieces of work", packet::kMostMoves),
                         {file_, 0, 0, ""});
    BUSBAR_RETURN_IF_ERROR(refuse_cycles());
    for (Numbers& row : after_) {
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      named_.list.after.values.insert(named_.list.after.values.end(), row.begin(), row.end());
      named_.list.after.close_row();
    }
    const auto sends = [](const program::ListedFlow& f) { return !f.is_work(); };
    if (std::none_of(named_.list.flows.begin(), named_.list.flows.end(), sends))
      return error("has no message and no collective of several ranks");
    return std::move(named_);
  }

 private:
  /// Takes away flows that wait for nothing until none is left.
  Status refuse_cycles() const {
    Numbers waits, ready;
    std::vector<Numbers> next(size());
    for (std::uint32_t f = 0; f < size(); ++f) {
      waits.push_back(static_cast<std::uint32_t>(after_[f].size()));
      if (after_[f].empty()) ready.push_back(f);
      for (const std::uint32_t before : after_[f]) next[before].push_back(f);
    }
    std::uint32_t taken = 0;
    for (; !ready.empty(); ++taken) {
      const std::uint32_t f = ready.back();
      ready.pop_back();
      for (const std::uint32_t n : next[f])
        if (--waits[n] == 0) ready.push_back(n);
    }
    if (taken == size()) return {};
    const auto stuck = static_cast<std::size_t>(
        std::find_if(waits.begin(), waits.end(), [](std::uint32_t n) { return n > 0; }) - waits.begin());
    return error(fmt::format("'{}' waits for itself, directly or through others", named_.ids[stuck]));
  }

  predict::Predictor& machine_;
  const std::string& file_;
  const std::uint32_t first_;
  NamedFlows named_;
  std::vector<Numbers> after_;
};

/// A graph of messages; the tasks keep their numbers.
class GraphFlows {
 public:
  GraphFlows(const program::MessageGraph& graph, FlowBuilder& out)
      : graph_(graph), out_(out), starts_after_(graph.tasks.size()) {}

  Status add() {
    BUSBAR_RETURN_IF_ERROR(out_.check_ranks(graph_.ranks));
    // On fluids, for the order in which work of one unit becomes ready; it also refuses cycles.
    const predict::Predictor& m = out_.machine();
    BUSBAR_ASSIGN(const engine::MessageRun run,
                  engine::run_messages(m.router(), m.placement(), m.protocol(), program::Protocol::kSimple, graph_));
    std::vector<std::uint32_t> order(graph_.tasks.size());
    for (std::uint32_t t = 0; t < order.size(); ++t) order[t] = t;
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return run.tasks[a].start < run.tasks[b].start; });
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> last;  // of a unit
    std::vector<std::uint32_t> unit_before(graph_.tasks.size(), kNone32);
    for (const std::uint32_t t : order) {
      const program::MessageTask& task = graph_.tasks[t];
      if (!task.is_work() || task.unit == program::MessageTask::kNoUnit) continue;
      const auto [known, fresh] = last.try_emplace({task.from, task.unit}, t);
      if (!fresh) unit_before[t] = known->second;
      known->second = t;
    }
    for (std::uint32_t t = 0; t < graph_.tasks.size(); ++t) {
      const program::MessageTask& task = graph_.tasks[t];
      if (task.from == program::MessageTask::kSwitch || task.to == program::MessageTask::kSwitch)
        return unsupported("switches that add are no ranks of a list of flows");
      Numbers after = starts_after(t);
      if (unit_before[t] != kNone32) after.push_back(unit_before[t]);
      const std::string id = std::to_string(t);
      if (task.is_work())
        out_.add_work(task.from, task.work, std::move(after), id);
      else
        out_.add_message(task.from, task.to, task.channel, count(task.bytes), std::move(after), id);
    }
    return {};
  }

 private:
  /// What the task waits for; the start of another task is what that one waits for.
  const Numbers& starts_after(std::uint32_t task) {
    if (starts_after_[task]) return *starts_after_[task];
    Numbers out;
    for (const program::TaskEdge& e : graph_.after.row(task)) {
      if (e.event != program::TaskEvent::kStarted) {
        out.push_back(e.task);
        continue;
      }
      const Numbers more = starts_after(e.task);
      out.insert(out.end(), more.begin(), more.end());
    }
    return starts_after_[task].emplace(std::move(out));
  }

  const program::MessageGraph& graph_;
  FlowBuilder& out_;
  std::vector<std::optional<Numbers>> starts_after_;
};

/// The nodes of all ranks of a Chakra trace.
class TraceFlows {
 public:
  TraceFlows(const std::vector<std::vector<formats::TraceNode>>& ranks, std::vector<formats::CommGroup> groups,
             FlowBuilder& out)
      : ranks_(ranks), groups_(std::move(groups)), out_(out) {}

  Status add() {
    BUSBAR_RETURN_IF_ERROR(out_.check_ranks(static_cast<std::uint32_t>(ranks_.size())));
    end_of_.resize(ranks_.size());
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) add_ends(r);
    BUSBAR_RETURN_IF_ERROR(add_messages());
    for (const auto& [key, starts] : calls_) BUSBAR_RETURN_IF_ERROR(add_call(key.first, starts));
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) BUSBAR_RETURN_IF_ERROR(link(r));
    return {};
  }

 private:
  /// A node of a rank, and the work that stands for its start.
  struct Start {
    std::uint32_t rank = 0, gate = 0, end = 0;
    const formats::TraceNode* node = nullptr;
  };
  struct Ends {
    std::uint32_t start = 0, end = 0;
  };

  std::string name(std::uint32_t rank, const formats::TraceNode& n) const { return fmt::format("{}/{}", rank, n.id); }

  /// Work is one flow; other nodes get a start and an end.
  void add_ends(std::uint32_t r) {
    std::map<std::string, std::uint32_t> calls;  // so far, per group
    for (const formats::TraceNode& n : ranks_[r]) {
      const std::string id = name(r, n);
      if (n.kind == formats::TraceNodeKind::kWork) {
        const std::uint32_t f = out_.add_work(r, n.work, {}, id);
        end_of_[r][n.id] = {f, f};
        continue;
      }
      const Duration launch =
          n.kind == formats::TraceNodeKind::kCollective ? out_.machine().protocol().launch : Duration();
      const std::uint32_t gate = out_.add_work(r, launch, {}, id + "/start");
      const std::uint32_t end = out_.add_work(r, Duration(), {gate}, id + "/end");
      end_of_[r][n.id] = {gate, end};
      const Start start{r, gate, end, &n};
      if (n.kind == formats::TraceNodeKind::kCollective)
        calls_[{n.call.group, calls[n.call.group]++}].push_back(start);
      else if (n.kind == formats::TraceNodeKind::kSend)
        sends_[{r, static_cast<std::uint32_t>(n.peer), n.tag}].push_back(start);
      else
        receives_[{static_cast<std::uint32_t>(n.peer), r, n.tag}].push_back(start);
    }
  }

  Status add_messages() {
    for (const auto* list : {&sends_, &receives_})
      for (const auto& [key, starts] : *list)
        if (const std::uint32_t rank = std::max(std::get<0>(key), std::get<1>(key)); rank >= ranks_.size())
          return out_.error(
              fmt::format("node {} talks to rank {}, and there are files of {} ranks, PREFIX.0 to PREFIX.{}",
                          name(starts.front().rank, *starts.front().node), rank, ranks_.size(), ranks_.size() - 1));
    for (const auto& [key, list] : receives_)
      if (sends_[key].size() != list.size())
        return out_.error(fmt::format("rank {} receives {} messages from rank {} with tag {}, which sends {}",
                                      std::get<1>(key), list.size(), std::get<0>(key), std::get<2>(key),
                                      sends_[key].size()));
    for (const auto& [key, list] : sends_) {
      const auto& [from, to, tag] = key;
      const auto received = receives_.find(key);
      if (to == from || (received == receives_.end() && !list.empty()))
        return out_.error(fmt::format("rank {} sends to rank {} with tag {}, which receives nothing", from, to, tag));
      for (std::size_t i = 0; i < list.size(); ++i) {
        const Start &s = list[i], &r = received->second[i];
        const std::uint32_t f =
            out_.add_message(from, to, 0, s.node->call.bytes, {s.gate, r.gate}, name(from, *s.node));
        out_.wait(s.end, f);
        out_.wait(r.end, f);
      }
    }
    return {};
  }

  /// The ranks of a group, in order of their rank in it.
  Numbers members(const formats::TraceNode& n) const {
    for (const formats::CommGroup& g : groups_)
      if (g.name == n.call.group) return g.members;
    if (!n.call.members.empty()) return n.call.members;
    Numbers all(ranks_.size());
    for (std::uint32_t r = 0; r < all.size(); ++r) all[r] = r;
    return all;
  }

  Status add_call(const std::string& group, const std::vector<Start>& starts) {
    const formats::TraceNode& n = *starts.front().node;
    const Numbers who = members(n);
    for (const Start& s : starts)
      if (s.node->call.op != n.call.op || s.node->call.bytes != n.call.bytes)
        return out_.error(fmt::format("nodes {} and {} are the same collective of group '{}', and differ",
                                      name(starts.front().rank, n), name(s.rank, *s.node), group));
    if (starts.size() != who.size())
      return out_.error(
          fmt::format("node {} is a collective of {} ranks, and {} of them have it (--groups gives the "
                      "ranks of groups)",
                      name(starts.front().rank, n), who.size(), starts.size()));
    if (who.size() == 1) return {};
    if (!n.call.op || n.call.bytes == 0) {  // a barrier: all wait for all
      for (const Start& a : starts)
        for (const Start& b : starts) out_.wait(a.end, b.gate);
      return {};
    }
    program::CollectiveCall call =
        predict::call_over(*n.call.op, Bytes{n.call.bytes}, static_cast<std::uint32_t>(who.size()));
    call.groups = {};
    for (const std::uint32_t r : who) call.groups.listed.push_back(out_.first() + r);
    call.groups.listed_groups = 1;
    return add_flows(call, starts, name(starts.front().rank, n));
  }

  Status add_flows(const program::CollectiveCall& call, const std::vector<Start>& starts, const std::string& id) {
    predict::Predictor& m = out_.machine();
    BUSBAR_ASSIGN(const program::CollectiveCall prepared, m.prepare(call));
    program::FlowList list;
    BUSBAR_RETURN_IF_ERROR(packet::add_collective_flows(prepared, m.router(), m.placement(), m.protocol(), list));
    std::map<topology::DeviceId, const Start*> of;
    for (const Start& s : starts) of[out_.gpu(s.rank)] = &s;
    const std::uint32_t base = out_.size();
    for (std::uint32_t f = 0; f < list.flows.size(); ++f) {
      program::ListedFlow flow = list.flows[f];
      flow.start = SimTime();
      Numbers after;
      for (const std::uint32_t before : list.after.row(f)) after.push_back(base + before);
      const auto from = of.find(flow.from), to = of.find(flow.to);
      if (from != of.end()) after.push_back(from->second->gate);
      if (to != of.end()) after.push_back(to->second->gate);
      const std::uint32_t added = out_.add(flow, std::move(after), fmt::format("{}/{}", id, f));
      if (from != of.end()) out_.wait(from->second->end, added);
      if (to != of.end()) out_.wait(to->second->end, added);
    }
    return {};
  }

  Status link(std::uint32_t r) {
    for (const formats::TraceNode& n : ranks_[r])
      for (const std::uint64_t id : n.after) {
        const auto before = end_of_[r].find(id);
        if (before == end_of_[r].end())
          return out_.error(fmt::format("node {} waits for node {}, which the trace lacks", name(r, n), id));
        out_.wait(end_of_[r].at(n.id).start, before->second.end);
      }
    return {};
  }

  const std::vector<std::vector<formats::TraceNode>>& ranks_;
  const std::vector<formats::CommGroup> groups_;
  FlowBuilder& out_;
  std::vector<std::map<std::uint64_t, Ends>> end_of_;  ///< per rank, by id
  std::map<std::pair<std::string, std::uint32_t>, std::vector<Start>> calls_;
  using Pair = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  ///< from, to, tag
  std::map<Pair, std::vector<Start>> sends_, receives_;
};

const formats::FormatEntry* format_of(const std::string& file) {
  const Result<formats::ImportSource> source = formats::ImportSource::open(file);
  return source.ok() ? formats::find_format(source->head()) : nullptr;
}

bool is_chakra(const formats::FormatEntry& f) { return std::string_view(f.kind).starts_with("chakra"); }

/// PREFIX.0.et, PREFIX.1.et, ... as long as there is one.
Result<std::vector<std::vector<formats::TraceNode>>> read_ranks(const std::string& file) {
  const std::size_t zero = file.rfind(".0.");
  std::vector<std::vector<formats::TraceNode>> ranks;
  for (std::uint32_t r = 0;; ++r) {
    const std::string name =
        zero == std::string::npos ? file : fmt::format("{}.{}.{}", file.substr(0, zero), r, file.substr(zero + 3));
    Result<formats::ImportSource> source = formats::ImportSource::open(name);
    if (!source.ok() && r > 0) break;
    if (!source.ok()) return source.error();
    BUSBAR_ASSIGN(const std::unique_ptr<std::istream> in, source->stream());
    BUSBAR_ASSIGN(std::vector<formats::TraceNode> nodes,
                  formats::read_chakra_nodes(*in, name, formats::looks_like_chakra_json(source->head())));
    BUSBAR_RETURN_IF_ERROR(source->complete());
    ranks.push_back(std::move(nodes));
    if (zero == std::string::npos) break;
  }
  return ranks;
}

Result<std::vector<formats::CommGroup>> read_groups_of(const std::string& file) {
  if (file.empty()) return std::vector<formats::CommGroup>();
  BUSBAR_ASSIGN(formats::ImportSource source, formats::ImportSource::open(file));
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  return formats::read_comm_groups(text, file);
}

}  // namespace

bool is_flow_trace(const std::string& file) {
  const formats::FormatEntry* f = format_of(file);
  return f != nullptr && (f->messages != nullptr || is_chakra(*f));
}

Result<NamedFlows> read_flow_trace(const std::string& file, const std::string& groups, std::uint32_t first,
                                   const spec::Cluster& cluster) {
  BUSBAR_ASSIGN(const auto machine, predict::Predictor::make(spec::Cluster(cluster), {}, {}));
  FlowBuilder out(*machine, file, first);
  const formats::FormatEntry* format = format_of(file);
  if (!is_chakra(*format)) {
    BUSBAR_ASSIGN(formats::ImportSource source, formats::ImportSource::open(file));
    BUSBAR_ASSIGN(const formats::ImportedMessages messages, format->messages(source));
    BUSBAR_RETURN_IF_ERROR(GraphFlows(messages.graph, out).add());
  } else {
    BUSBAR_ASSIGN(const auto ranks, read_ranks(file));
    BUSBAR_ASSIGN(std::vector<formats::CommGroup> who, read_groups_of(groups));
    BUSBAR_RETURN_IF_ERROR(TraceFlows(ranks, std::move(who), out).add());
  }
  return out.finish();
}

}  // namespace busbar::questions
