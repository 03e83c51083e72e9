#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "busbar/formats/msccl_xml.h"

namespace busbar::formats {
namespace {

/// A step in MSCCL's form.
struct WrittenStep {
  std::string type;
  collectives::PlanSlice source, destination;
  bool takes = false, sends = false;
  std::uint32_t to = 0, from = 0;
};

class MscclWriter {
 public:
  explicit MscclWriter(const MscclAlgorithm& a) : a_(a), p_(a.plan) {}

  Result<std::string> write() {
    BUSBAR_RETURN_IF_ERROR(classify());
    number_steps();
    const auto yes = [](bool b) { return b ? 1 : 0; };
    out_ = fmt::format(
        "<algo name=\"{}\" proto=\"{}\" nchannels=\"{}\" nchunksperloop=\"{}\" ngpus=\"{}\" coll=\"{}\" inplace=\"{}\" "
        "outofplace=\"{}\" minBytes=\"{}\" maxBytes=\"{}\"{}>\n",
        escaped(p_.name), a_.protocol, p_.channels, p_.chunks, p_.ranks, coll(), yes(a_.in_place), yes(a_.out_of_place),
        a_.min_bytes, a_.max_bytes, a_.loops > 0 ? fmt::format(" loops=\"{}\"", a_.loops) : "");
    std::uint32_t t = 0, s = 0;
    for (std::uint32_t r = 0; r < p_.ranks; ++r) {
      out_ += fmt::format("  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", r, a_.input[r],
                          a_.output[r], p_.scratch[r]);
      for (std::uint32_t id = 0; t < p_.thread_rank.size() && p_.thread_rank[t] == r; ++t, ++id) write_thread(t, id, s);
      out_ += "  </gpu>\n";
    }
    return out_ + "</algo>\n";
  }

 private:
  static std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '"' ? "&quot;" : c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    return out;
  }
  /// As spelled by the readers of MSCCL, of Azure's scheduler and of RCCL (msccl_parser.cc).
  std::string coll() const {
    if (p_.op == collectives::Collective::kAllReduce) return "allreduce";
    if (p_.op == collectives::Collective::kAllGather) return "allgather";
    if (p_.op == collectives::Collective::kReduceScatter) return "reducescatter";
    if (p_.op == collectives::Collective::kAllToAll) return "alltoall";
    return collectives::name_of(p_.op);
  }
  Error unsupported(std::uint32_t s, const std::string& what) const {
    return {ErrorCode::kUnsupported, "MSCCL has no step that " + what, p_.where(p_.steps[s])};
  }

  /// Finds the type of each step. Messages must be received in the order of their sends: MSCCL only counts them.
  Status classify() {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> sent, taken;
    for (std::uint32_t s = 0; s < p_.steps.size(); ++s) {
      BUSBAR_ASSIGN(WrittenStep w, classify(s));
      const std::uint32_t rank = p_.rank_of(p_.steps[s]), channel = p_.steps[s].channel;
      for (const collectives::PlanSlice& x : p_.writes.row(s))
        if (x.buffer == collectives::PlanBuffer::kMessage) {
          sent[{rank, x.rank, channel}].push_back(x.first);
          sender_[{x.rank, x.first}] = s;
        }
      steps_.push_back(std::move(w));
    }
    for (std::uint32_t s = 0; s < p_.steps.size(); ++s)
      for (const collectives::PlanSlice& x : p_.reads.row(s)) {
        if (x.buffer != collectives::PlanBuffer::kMessage) continue;
        const auto from = sender_.find({x.rank, x.first});
        if (from == sender_.end()) return unsupported(s, "takes a message that is not sent");
        const collectives::PlanStep& sender = p_.steps[from->second];
        if (sender.channel != p_.steps[s].channel || sender.count != p_.steps[s].count)
          return unsupported(s, "takes a message on another channel, or in parts");
        steps_[s].from = p_.rank_of(sender);
        taken[{steps_[s].from, x.rank, sender.channel}].push_back(x.first);
      }
    if (sent == taken) return {};
    return unsupported(0, "takes messages in another order than they are sent in");
  }

  Result<WrittenStep> classify(std::uint32_t s) const {
    WrittenStep w;
    const std::uint32_t rank = p_.rank_of(p_.steps[s]);
    std::vector<collectives::PlanSlice> own, stored;
    for (const collectives::PlanSlice& x : p_.reads.row(s)) {
      if (x.rank != rank) return unsupported(s, "reads from another rank");
      if (x.buffer == collectives::PlanBuffer::kMessage)
        w.takes = true;
      else
        own.push_back(x);
    }
    for (const collectives::PlanSlice& x : p_.writes.row(s)) {
      if (x.buffer == collectives::PlanBuffer::kMessage) {
        if (w.sends) return unsupported(s, "sends to two ranks");
        w.sends = true;
        w.to = x.rank;
      } else if (x.rank != rank) {
        return unsupported(s, "writes to another rank");
      } else {
        stored.push_back(x);
      }
    }
    const bool reduces_here = !w.takes && !w.sends && own.size() == 2 && stored.size() == 1 && own[1] == stored[0];
    if (stored.size() > 1 || (own.size() > 1 && !reduces_here))
      return unsupported(s, "adds up or stores in two places");
    w.source = own.empty() ? collectives::PlanSlice{rank, collectives::PlanBuffer::kInput, 0} : own[0];
    w.destination = stored.empty() ? w.source : stored[0];
    if (own.empty()) w.source = w.destination;
    if (reduces_here)
      w.type = "re";
    else if (!w.takes)
      w.type = w.sends ? "s" : stored.empty() ? "nop" : "cpy";
    else
      w.type = std::string(own.empty() ? "r" : "rr") + (!stored.empty() && (w.sends || !own.empty()) ? "c" : "") +
               (w.sends ? "s" : "");
    if (w.sends && w.type == "s" && !stored.empty()) return unsupported(s, "sends and stores what it has");
    if (w.takes && !w.sends && stored.empty()) return unsupported(s, "throws a message away");
    if (w.type == "rs") return unsupported(s, "sends on what it does not keep");
    return w;
  }

  std::vector<std::uint32_t> waits(std::uint32_t s) const {
    std::vector<std::uint32_t> out;
    for (const std::uint32_t a : p_.after.row(s))
      if (p_.rank_of(p_.steps[a]) == p_.rank_of(p_.steps[s])) out.push_back(a);
    return out;
  }

  /// Index of each step in its thread block. If it has several predecessors, steps before it wait for all but the last.
  void number_steps() {
    number_.assign(p_.steps.size(), 0);
    waited_for_.assign(p_.steps.size(), false);
    for (std::uint32_t s = 0, next = 0; s < p_.steps.size(); ++s) {
      if (s > 0 && p_.steps[s].thread != p_.steps[s - 1].thread) next = 0;
      const auto w = waits(s);
      for (const std::uint32_t a : w) waited_for_[a] = true;
      next += static_cast<std::uint32_t>(std::max<std::size_t>(1, w.size()));
      number_[s] = next - 1;
    }
    for (std::uint32_t r = 0, t = 0; r < p_.ranks; ++r)
      for (std::uint32_t id = 0; t < p_.thread_rank.size() && p_.thread_rank[t] == r; ++t) id_.push_back(id++);
  }

  void write_thread(std::uint32_t t, std::uint32_t id, std::uint32_t& s) {
    const std::uint32_t first = s;
    std::int64_t send = -1, receive = -1;
    std::uint32_t channel = 0;
    for (std::uint32_t i = first; i < p_.steps.size() && p_.steps[i].thread == t; ++i) {
      if (steps_[i].sends) send = steps_[i].to;
      if (steps_[i].takes) receive = steps_[i].from;
      channel = p_.steps[i].channel;
    }
    out_ += fmt::format("    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", id, send, receive, channel);
    for (; s < p_.steps.size() && p_.steps[s].thread == t; ++s) {
      const auto w = waits(s);
      for (std::size_t i = 0; i + 1 < w.size(); ++i)
        write_step(number_[s] + static_cast<std::uint32_t>(i + 1 - w.size()), "nop", {}, {}, 0, &w[i], false);
      const collectives::PlanStep& x = p_.steps[s];
      write_step(number_[s], steps_[s].type, steps_[s].source, steps_[s].destination, x.count,
                 w.empty() ? nullptr : &w.back(), waited_for_[s]);
    }
    out_ += "    </tb>\n";
  }

  void write_step(std::uint32_t number, const std::string& type, const collectives::PlanSlice& source,
                  const collectives::PlanSlice& destination, std::uint32_t count, const std::uint32_t* wait,
                  bool waited_for) {
    static constexpr const char* kBuffers[] = {"i", "o", "s"};
    const bool nop = type == "nop";
    const auto offset = [nop](const collectives::PlanSlice& x) {
      return nop ? -1 : static_cast<std::int64_t>(x.first);
    };
    out_ += fmt::format(
        "      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" cnt=\"{}\" "
        "depid=\"{}\" "
        "deps=\"{}\" hasdep=\"{}\"/>\n",
        number, type, kBuffers[static_cast<std::size_t>(source.buffer)], offset(source),
        kBuffers[static_cast<std::size_t>(destination.buffer)], offset(destination), nop ? 0 : count,
        wait == nullptr ? -1 : static_cast<std::int64_t>(id_[p_.steps[*wait].thread]),
        wait == nullptr ? -1 : static_cast<std::int64_t>(number_[*wait]), waited_for ? 1 : 0);
  }

  const MscclAlgorithm& a_;
  const collectives::ExecutionPlan& p_;
  std::vector<WrittenStep> steps_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> sender_;  ///< by receiver and place
  std::vector<std::uint32_t> number_, id_;
  std::vector<bool> waited_for_;
  std::string out_;
};

}  // namespace

Result<std::string> write_msccl_xml(const MscclAlgorithm& algorithm) { return MscclWriter(algorithm).write(); }

Result<MscclAlgorithm> msccl_of(const collectives::Schedule& schedule, collectives::PlanLanes lanes) {
  MscclAlgorithm a;
  if (schedule.op == collectives::Collective::kAllToAllV)
    return Error{ErrorCode::kUnsupported, "MSCCL has no all_to_allv", {}};
  for (const bool in_place : {true, false}) {
    BUSBAR_ASSIGN(a.plan, collectives::plan_of(schedule, in_place, lanes));
    const Result<collectives::PlanProof> proof = collectives::prove(a.plan);
    if (!proof.ok() && (!in_place || proof.error().code == ErrorCode::kUnsupported)) return proof.error();
    a.in_place = in_place;
    a.out_of_place = !in_place;
    if (proof.ok()) break;
  }
  a.input.assign(a.plan.ranks, collectives::input_chunks(a.plan));
  a.output.assign(a.plan.ranks, collectives::output_chunks(a.plan));
  return a;
}

}  // namespace busbar::formats
