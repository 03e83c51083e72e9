#include "busbar/formats/msccl_xml.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "busbar/base/xml.h"

namespace busbar::formats {
namespace {

constexpr std::int64_t kMostMscclRanks = 4096, kMostChunks = 1 << 16, kMostThreads = 1 << 16, kMostScratch = 1 << 20,
                       kMostLoops = 1 << 16;
constexpr std::uint64_t kMostChunksInAll = std::uint64_t{1} << 22;  ///< chunks of all ranks together

/// The actions of a step type: receive a message, add the rank's own source, store, send.
struct StepType {
  const char* name;
  bool takes, adds, stores, sends;
};
constexpr StepType kTypes[] = {
    {"s", false, true, false, true},  {"r", true, false, true, false},  {"cpy", false, true, true, false},
    {"re", false, true, true, false}, {"rcs", true, false, true, true}, {"rrc", true, true, true, false},
    {"rrs", true, true, false, true}, {"rrcs", true, true, true, true}, {"nop", false, false, false, false},
};

struct RawStep {
  const StepType* type = nullptr;
  collectives::PlanSlice source, destination;
  std::uint32_t count = 0;
  std::int64_t dep_thread = -1, dep_step = -1;
  int line = 0;
};
struct RawThread {
  std::uint32_t rank = 0, channel = 0;
  std::int64_t send = -1, receive = -1;
  std::uint32_t first = 0;  ///< step
  int line = 0;
};
using Connection = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  ///< sender, receiver, channel

class MscclReader {
 public:
  explicit MscclReader(const std::string& name) { plan().file = name; }

  Result<MscclAlgorithm> read(const XmlElement& algo) {
    BUSBAR_RETURN_IF_ERROR(read_head(algo));
    std::uint32_t ranks = 0;
    for (const XmlElement& gpu : algo.children()) {
      if (gpu.tag() != "gpu") {
        add_unknown(out_.unknown, gpu.where().line, fmt::format("element {}", gpu.tag()));
        continue;
      }
      BUSBAR_ASSIGN(const std::int64_t id, gpu.integer("id", 0, plan().ranks - 1));
      if (id != ranks)
        return gpu.error(fmt::format("GPU {} where GPU {} is expected: they count up from 0", id, ranks), "id");
      BUSBAR_RETURN_IF_ERROR(read_gpu(gpu, ranks++));
    }
    if (ranks != plan().ranks) return algo.error(fmt::format("{} gpu elements, ngpus says {}", ranks, plan().ranks));
    BUSBAR_RETURN_IF_ERROR(connect());
    return std::move(out_);
  }

 private:
  collectives::ExecutionPlan& plan() { return out_.plan; }
  Error at_line(int line, std::string what) { return invalid(std::move(what), {plan().file, line, 0, ""}); }

  Status read_head(const XmlElement& algo);
  Status read_gpu(const XmlElement& gpu, std::uint32_t rank);
  Status read_thread(const XmlElement& tb, std::uint32_t rank, std::uint32_t number);
  Result<RawStep> read_step(const XmlElement& step, std::uint32_t rank);
  Result<collectives::PlanSlice> read_slice(const XmlElement& step, std::uint32_t rank, const char* buffer,
                                            const char* offset);
  Status connect();
  Status match();
  Status add_waits();

  MscclAlgorithm out_;
  std::vector<std::uint32_t> first_thread_{0};  ///< per rank
  std::vector<RawThread> threads_;
  std::vector<RawStep> raw_;
  std::map<Connection, std::vector<std::uint32_t>> sent_, taken_;  ///< steps in order
  std::vector<std::uint32_t> message_in_, message_out_;            ///< per step: first chunk of its message
  std::vector<std::uint32_t> sender_of_;                           ///< per step that receives a message
};

Status MscclReader::read_head(const XmlElement& algo) {
  if (algo.tag() != "algo") return algo.error("an MSCCL algorithm begins with <algo>");
  add_unknown_attributes(out_.unknown, algo,
                         {"name", "proto", "nchannels", "nchunksperloop", "ngpus", "coll", "inplace", "outofplace",
                          "minBytes", "maxBytes", "redop", "loops"});
  BUSBAR_ASSIGN(plan().name, algo.string("name"));
  BUSBAR_ASSIGN(plan().ranks, algo.integer<std::uint32_t>("ngpus", 1, kMostMscclRanks));
  BUSBAR_ASSIGN(plan().chunks, algo.integer<std::uint32_t>("nchunksperloop", 1, kMostChunks));
  BUSBAR_ASSIGN(plan().channels, algo.integer<std::uint32_t>("nchannels", 1, 1024));
  if (std::uint64_t{plan().ranks} * plan().chunks > kMostChunksInAll)
    return algo.error(fmt::format("{} GPUs with {} chunks are too many; at most {} in all", plan().ranks, plan().chunks,
                                  kMostChunksInAll));
  BUSBAR_ASSIGN(const std::string coll, algo.string("coll"));
  const Result<collectives::Collective> op = collectives::parse_collective(coll);
  if (!op.ok())
    return algo.error(fmt::format("'{}' is not a collective whose result is known, so nothing can be proved; known are "
                                  "allreduce, allgather, reducescatter, alltoall, broadcast, reduce, gather, scatter",
                                  coll),
                      "coll");
  plan().op = *op;
  if (*op == collectives::Collective::kBroadcast || *op == collectives::Collective::kReduce ||
      *op == collectives::Collective::kGather || *op == collectives::Collective::kScatter)
    out_.notes.push_back("the root is rank 0: the file does not say");
  out_.protocol = algo.find("proto").value_or("Simple");
  if (out_.protocol != "Simple" && out_.protocol != "LL" && out_.protocol != "LL128")
    return algo.error(fmt::format("'{}' is not Simple, LL or LL128", out_.protocol), "proto");
  BUSBAR_ASSIGN(out_.in_place, algo.integer_or("inplace", false, 0, 1));
  BUSBAR_ASSIGN(out_.out_of_place, algo.integer_or("outofplace", !out_.in_place, 0, 1));
  plan().in_place = out_.in_place;
  if (!out_.in_place && !out_.out_of_place) return algo.error("is neither for in-place nor for out-of-place calls");
  BUSBAR_ASSIGN(out_.min_bytes, algo.integer_or("minBytes", std::uint64_t{0}, 0, INT64_MAX));
  BUSBAR_ASSIGN(out_.max_bytes, algo.integer_or("maxBytes", std::uint64_t{0}, 0, INT64_MAX));
  BUSBAR_ASSIGN(out_.loops, algo.integer_or("loops", 0u, 0, kMostLoops));
  return {};
}

Status MscclReader::read_gpu(const XmlElement& gpu, std::uint32_t rank) {
  add_unknown_attributes(out_.unknown, gpu, {"id", "i_chunks", "o_chunks", "s_chunks"});
  BUSBAR_ASSIGN(out_.input.emplace_back(), gpu.integer<std::uint32_t>("i_chunks", 0, kMostChunks));
  BUSBAR_ASSIGN(out_.output.emplace_back(), gpu.integer<std::uint32_t>("o_chunks", 0, kMostChunks));
  BUSBAR_ASSIGN(plan().scratch.emplace_back(), gpu.integer<std::uint32_t>("s_chunks", 0, kMostScratch));
  for (const XmlElement& tb : gpu.children()) {
    if (tb.tag() != "tb") {
      add_unknown(out_.unknown, tb.where().line, fmt::format("element {}", tb.tag()));
      continue;
    }
    const auto number = static_cast<std::uint32_t>(threads_.size()) - first_thread_[rank];
    BUSBAR_ASSIGN(const std::int64_t id, tb.integer("id", 0, kMostThreads));
    if (id != number) return tb.error(fmt::format("thread block {} but {} is expected", id, number), "id");
    BUSBAR_RETURN_IF_ERROR(read_thread(tb, rank, number));
  }
  first_thread_.push_back(static_cast<std::uint32_t>(threads_.size()));
  return {};
}

Status MscclReader::read_thread(const XmlElement& tb, std::uint32_t rank, std::uint32_t) {
  add_unknown_attributes(out_.unknown, tb, {"id", "send", "recv", "chan"});
  RawThread t{rank, 0, -1, -1, static_cast<std::uint32_t>(raw_.size()), tb.where().line};
  BUSBAR_ASSIGN(t.send, tb.integer("send", -1, plan().ranks - 1));
  BUSBAR_ASSIGN(t.receive, tb.integer("recv", -1, plan().ranks - 1));
  BUSBAR_ASSIGN(t.channel, tb.integer<std::uint32_t>("chan", 0, 1023));
  if (t.send == rank || t.receive == rank) return tb.error(fmt::format("rank {} is its own peer", rank));
  for (const XmlElement& step : tb.children()) {
    if (step.tag() != "step") {
      add_unknown(out_.unknown, step.where().line, fmt::format("element {}", step.tag()));
      continue;
    }
    const auto due = static_cast<std::int64_t>(raw_.size()) - t.first;
    BUSBAR_ASSIGN(const std::int64_t number, step.integer("s", 0, INT32_MAX));
    if (number != due) return step.error(fmt::format("step {} but {} is expected", number, due), "s");
    BUSBAR_ASSIGN(RawStep raw, read_step(step, rank));
    if (raw.type->sends && t.send < 0) return step.error("sends, but its thread block has no peer to send to");
    if (raw.type->takes && t.receive < 0)
      return step.error("receives, but its thread block has no peer to receive from");
    raw_.push_back(raw);
  }
  threads_.push_back(t);
  return {};
}

Result<RawStep> MscclReader::read_step(const XmlElement& step, std::uint32_t rank) {
  add_unknown_attributes(out_.unknown, step,
                         {"s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep"});
  RawStep raw;
  raw.line = step.where().line;
  BUSBAR_ASSIGN(const std::string type, step.string("type"));
  for (const StepType& t : kTypes)
    if (type == t.name) raw.type = &t;
  if (raw.type == nullptr)
    return step.error(fmt::format("'{}' is not one of s, r, cpy, re, rcs, rrc, rrs, rrcs, nop", type), "type");
  BUSBAR_ASSIGN(raw.dep_thread, step.integer_or("depid", std::int64_t{-1}, -1, kMostThreads));
  BUSBAR_ASSIGN(raw.dep_step, step.integer_or("deps", std::int64_t{-1}, -1, INT32_MAX));
  if (type == "nop") return raw;
  BUSBAR_ASSIGN(raw.count, step.integer<std::uint32_t>("cnt", 1, kMostChunks));
  if (raw.type->adds) {
    BUSBAR_ASSIGN(raw.source, read_slice(step, rank, "srcbuf", "srcoff"));
  }
  if (raw.type->stores) {
    BUSBAR_ASSIGN(raw.destination, read_slice(step, rank, "dstbuf", "dstoff"));
  }
  return raw;
}

Result<collectives::PlanSlice> MscclReader::read_slice(const XmlElement& step, std::uint32_t rank, const char* buffer,
                                                       const char* offset) {
  BUSBAR_ASSIGN(const std::string name, step.string(buffer));
  if (name != "i" && name != "o" && name != "s")
    return step.error(fmt::format("'{}' is not i (input), o (output) or s (scratch)", name), buffer);
  BUSBAR_ASSIGN(const auto first, step.integer<std::uint32_t>(offset, 0, kMostScratch));
  const collectives::PlanBuffer b = name == "i"   ? collectives::PlanBuffer::kInput
                                    : name == "o" ? collectives::PlanBuffer::kOutput
                                                  : collectives::PlanBuffer::kScratch;
  return collectives::PlanSlice{rank, b, first};
}

/// Largest number of messages in flight on a connection; protocols that cut messages allow fewer. Source: NVIDIA NCCL,
/// src/include/device.h, NCCL_STEPS, which MSCCL keeps.
constexpr std::size_t kSlots = 8;

/// Matches the k-th send of a connection with its k-th receive.
Status MscclReader::match() {
  std::map<Connection, std::uint32_t> owner_out, owner_in;
  for (std::uint32_t t = 0; t < threads_.size(); ++t) {
    const RawThread& th = threads_[t];
    const auto end = t + 1 < threads_.size() ? threads_[t + 1].first : static_cast<std::uint32_t>(raw_.size());
    for (std::uint32_t s = th.first; s < end; ++s)
      for (const bool sends : {true, false}) {
        if (!(sends ? raw_[s].type->sends : raw_[s].type->takes)) continue;
        const Connection c = sends ? Connection{th.rank, static_cast<std::uint32_t>(th.send), th.channel}
                                   : Connection{static_cast<std::uint32_t>(th.receive), th.rank, th.channel};
        if ((sends ? owner_out : owner_in).try_emplace(c, t).first->second != t)
          return at_line(raw_[s].line,
                         fmt::format("two thread blocks of rank {} {} rank {} on channel {}", th.rank,
                                     sends ? "send to" : "receive from", sends ? th.send : th.receive, th.channel));
        (sends ? sent_ : taken_)[c].push_back(s);
      }
  }
  plan().messages.assign(plan().ranks, 0);
  message_in_.assign(raw_.size(), 0);
  message_out_.assign(raw_.size(), 0);
  sender_of_.assign(raw_.size(), 0);
  out_.slot_freed_by.assign(raw_.size(), MscclAlgorithm::kNoStep);
  for (const auto& [c, sends] : sent_) {
    const auto& [from, to, channel] = c;
    const std::vector<std::uint32_t>& takes = taken_[c];
    for (std::size_t k = 0; k < sends.size(); ++k) {
      if (k >= takes.size())
        return at_line(raw_[sends[k]].line, fmt::format("rank {} never receives this on channel {}", to, channel));
      if (raw_[sends[k]].count != raw_[takes[k]].count)
        return at_line(raw_[sends[k]].line,
                       fmt::format("sends {} chunks, rank {} takes {} in line {}", raw_[sends[k]].count, to,
                                   raw_[takes[k]].count, raw_[takes[k]].line));
      if (k >= kSlots) out_.slot_freed_by[sends[k]] = takes[k - kSlots];
      message_out_[sends[k]] = message_in_[takes[k]] = plan().messages[to];
      sender_of_[takes[k]] = sends[k];
      plan().messages[to] += raw_[sends[k]].count;
    }
  }
  for (const auto& [c, takes] : taken_)
    if (const auto& sends = sent_[c]; takes.size() > sends.size())
      return at_line(raw_[takes[sends.size()]].line,
                     fmt::format("rank {} never sends this on channel {}", std::get<0>(c), std::get<2>(c)));
  return {};
}

Status MscclReader::connect() {
  BUSBAR_RETURN_IF_ERROR(match());
  collectives::ExecutionPlan& p = plan();
  for (std::uint32_t t = 0; t < threads_.size(); ++t) {
    const RawThread& th = threads_[t];
    p.thread_rank.push_back(th.rank);
    const auto end = t + 1 < threads_.size() ? threads_[t + 1].first : static_cast<std::uint32_t>(raw_.size());
    for (std::uint32_t s = th.first; s < end; ++s) {
      const RawStep& r = raw_[s];
      p.steps.push_back({t, r.count, static_cast<std::uint16_t>(th.channel), false, r.line});
      if (r.type->takes) p.reads.values.push_back({th.rank, collectives::PlanBuffer::kMessage, message_in_[s]});
      if (r.type->adds) p.reads.values.push_back(r.source);
      if (r.type->name == std::string_view("re")) p.reads.values.push_back(r.destination);
      if (r.type->stores) p.writes.values.push_back(r.destination);
      if (r.type->sends)
        p.writes.values.push_back(
            {static_cast<std::uint32_t>(th.send), collectives::PlanBuffer::kMessage, message_out_[s]});
      p.reads.close_row();
      p.writes.close_row();
    }
  }
  return add_waits();
}

Status MscclReader::add_waits() {
  collectives::ExecutionPlan& p = plan();
  for (std::uint32_t s = 0; s < raw_.size(); ++s) {
    const RawStep& r = raw_[s];
    const std::uint32_t rank = p.rank_of(p.steps[s]);
    if (r.dep_thread >= 0) {
      const std::uint64_t t = first_thread_[rank] + static_cast<std::uint64_t>(r.dep_thread);
      const std::uint64_t end = t + 1 < threads_.size() ? threads_[t + 1].first : raw_.size();
      if (t >= first_thread_[rank + 1] || r.dep_step < 0 ||
          threads_[t].first + static_cast<std::uint64_t>(r.dep_step) >= end)
        return at_line(r.line, fmt::format("waits for step {} of thread block {}, which rank {} has not", r.dep_step,
                                           r.dep_thread, rank));
      const auto other = static_cast<std::uint32_t>(threads_[t].first + static_cast<std::uint64_t>(r.dep_step));
      if (t != p.steps[s].thread)
        p.after.values.push_back(other);
      else if (other >= s)
        return at_line(r.line, "waits for itself");
    }
    if (r.type->takes) p.after.values.push_back(sender_of_[s]);
    p.after.close_row();
  }
  return {};
}

}  // namespace

Result<MscclAlgorithm> read_msccl_xml(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(const XmlElement root, parse_xml(text, name));
  BUSBAR_ASSIGN(MscclAlgorithm algorithm, MscclReader(name).read(root));
  for (std::uint32_t r = 0; r < algorithm.plan.ranks; ++r) {
    const std::uint32_t in = collectives::input_chunks(algorithm.plan),
                        out = collectives::output_chunks(algorithm.plan);
    if ((algorithm.input[r] == in || algorithm.input[r] == 0) &&
        (algorithm.output[r] == out || algorithm.output[r] == 0))
      continue;
    algorithm.notes.push_back(fmt::format(
        "rank {} declares {} input and {} output chunks; {} over {} chunks has {} and {}", r, algorithm.input[r],
        algorithm.output[r], collectives::name_of(algorithm.plan.op), algorithm.plan.chunks, in, out));
    break;
  }
  return algorithm;
}

namespace {

/// The plan, with sends that also wait for a free slot of their connection.
collectives::ExecutionPlan with_slots(const MscclAlgorithm& algorithm) {
  collectives::ExecutionPlan plan = algorithm.plan;
  Csr<std::uint32_t> after;
  for (std::uint32_t s = 0; s < plan.steps.size(); ++s) {
    for (const std::uint32_t b : plan.after.row(s)) after.values.push_back(b);
    if (algorithm.slot_freed_by[s] != MscclAlgorithm::kNoStep) after.values.push_back(algorithm.slot_freed_by[s]);
    after.close_row();
  }
  plan.after = std::move(after);
  return plan;
}

}  // namespace

Result<collectives::PlanProof> prove(const MscclAlgorithm& algorithm) {
  const auto waits = [](std::uint32_t s) { return s != MscclAlgorithm::kNoStep; };
  const bool slots = std::any_of(algorithm.slot_freed_by.begin(), algorithm.slot_freed_by.end(), waits);
  collectives::PlanProof proof;
  for (const bool in_place : {true, false}) {
    if (!(in_place ? algorithm.in_place : algorithm.out_of_place)) continue;
    collectives::ExecutionPlan plan = algorithm.plan;
    plan.in_place = in_place;
    Result<collectives::PlanProof> here = collectives::prove(plan);
    if (!here.ok()) {
      here.error().message += in_place ? " (in place)" : " (out of place)";
      return here.error();
    }
    if (slots) {
      collectives::ExecutionPlan held = with_slots(algorithm);
      held.in_place = in_place;
      if (Result<collectives::PlanProof> runs = collectives::prove(held); !runs.ok()) {
        runs.error().message += fmt::format("; a connection holds {} messages, and none is received", kSlots);
        return runs.error();
      }
    }
    proof = *here;
  }
  return proof;
}

}  // namespace busbar::formats
