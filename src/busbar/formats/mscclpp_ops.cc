// Turns operations of MSCCL++ into steps.
#include <fmt/core.h>

#include <algorithm>

#include "busbar/formats/internal/mscclpp_reader.h"

namespace busbar::formats {
namespace {

constexpr std::size_t kMostSteps = 1'000'000;

constexpr MscclppOp kOps[] = {
    {"nop", MscclppKind::kSync},
    {"barrier", MscclppKind::kSync},
    {"flush", MscclppKind::kSync},
    {"sem_acquire", MscclppKind::kSync},
    {"sem_release", MscclppKind::kSync},
    {"signal", MscclppKind::kSignal, true},
    {"rlxsignal", MscclppKind::kSignal, true},
    {"wait", MscclppKind::kWait},
    {"rlxwait", MscclppKind::kWait},
    {"put", MscclppKind::kMove},
    {"pws", MscclppKind::kMove, true},
    {"pwsf", MscclppKind::kMove, true},
    {"get", MscclppKind::kMove},
    {"copy", MscclppKind::kMove},
    {"ppkt", MscclppKind::kMove, false, false, true},
    {"rppkt", MscclppKind::kMove, false, true, true},
    {"upkt", MscclppKind::kMove, false, true, false},
    {"cpkt", MscclppKind::kMove, false, false, true},
    {"re", MscclppKind::kReduce},
    {"res", MscclppKind::kReduce},
    {"rre", MscclppKind::kReduce},
    {"rres", MscclppKind::kReduce},
    {"repkt", MscclppKind::kReduce, false, true, false},
    {"respkt", MscclppKind::kReduce, false, true, true},
    {"recpkt", MscclppKind::kReduce, false, true, true},
    {"recspkt", MscclppKind::kReduce, false, true, true},
    {"glres", MscclppKind::kSwitchReduce},
    {"gstore", MscclppKind::kSwitchStore},
    {"gstorepkt", MscclppKind::kSwitchStore, false, false, true},
    {"pipeline", MscclppKind::kPipeline},
};

}  // namespace

const MscclppOp* find_mscclpp_op(std::string_view name) {
  for (const MscclppOp& op : kOps)
    if (name == op.name) return &op;
  return nullptr;
}

Status MscclppReader::read_op(const Json& op, Block& b, const std::string& path, std::int64_t round) {
  if (!op.is_object()) return fail(path, "must be a map");
  add_unknown_keys(out_.unknown, op, "op.",
                   {"name", "channel_type", "channel_ids", "src_buff", "dst_buff", "reduce_op", "semaphore_ids",
                    "tbg_info", "iter_context", "ops", "barrier_id", "nthread_blocks"});
  BUSBAR_ASSIGN(const std::string name, word(op, "name", path));
  const MscclppOp* known = find_mscclpp_op(name);
  if (known == nullptr) return fail(path + ".name", fmt::format("there is no operation '{}'", name));
  if (plan().steps.size() > kMostSteps) return fail(path, fmt::format("more than {} steps", kMostSteps));
  switch (known->kind) {
    case MscclppKind::kPipeline: {
      BUSBAR_ASSIGN(const std::vector<Json>* inner, list(op, "ops", path));
      for (std::uint32_t r = 0; r < rounds_; ++r) BUSBAR_RETURN_IF_ERROR(read_ops(*inner, b, path + ".ops", r));
      return {};
    }
    case MscclppKind::kSync:
      return sync(op, name, b, path);
    case MscclppKind::kSignal:
    case MscclppKind::kWait: {
      BUSBAR_ASSIGN(const std::vector<MscclppEnd> channels, ends(op, b, path));
      for (const MscclppEnd& c : channels)
        use((known->signals ? signals_ : waits_)[c], b, step(b, 0, {}, {}, false), path);
      return {};
    }
    default:
      return add_move(*known, op, b, path, round);
  }
}

Status MscclppReader::sync(const Json& op, const std::string& name, Block& b, const std::string& path) {
  if (name == "barrier") {
    BUSBAR_ASSIGN(const std::int64_t id, integer(op, "barrier_id", 0, 0, INT32_MAX, path));
    barriers_[{b.rank, id}].push_back(step(b, 0, {}, {}, false));
  }
  if (name != "sem_acquire" && name != "sem_release") return {};  // the others order threads only within the block
  BUSBAR_ASSIGN(const std::vector<Json>* ids, list(op, "semaphore_ids", path));
  for (const Json& id : *ids) {
    if (!id.is_natural() || id.natural() >= gpus_[b.rank].semaphores.size())
      return fail(path + ".semaphore_ids", fmt::format("there is no semaphore '{}'", id.dump()));
    use((name == "sem_acquire" ? acquired_ : released_)[{b.rank, static_cast<std::uint32_t>(id.natural())}], b,
        step(b, 0, {}, {}, false), path);
  }
  return {};
}

Result<std::vector<MscclppEnd>> MscclppReader::ends(const Json& op, const Block& b, const std::string& path) const {
  BUSBAR_ASSIGN(const std::string type, word(op, "channel_type", path));
  BUSBAR_ASSIGN(const std::vector<Json>* ids, list(op, "channel_ids", path));
  std::vector<MscclppEnd> out;
  const auto own = b.channels.find(type);
  for (const Json& id : *ids) {
    if (!id.is_natural() || own == b.channels.end() || id.natural() >= own->second.size())
      return fail(path + ".channel_ids", fmt::format("the thread block has no {} channel '{}'", type, id.dump()));
    out.emplace_back(b.rank, type, own->second[id.natural()]);
  }
  return out;
}

Result<MscclppReader::SliceOf> MscclppReader::slice(const Json& j, const std::string& type, const Block& b,
                                                    const std::string& path) const {
  if (!j.is_object()) return fail(path, "must be a map");
  BUSBAR_ASSIGN(const std::int64_t first,
                integer(j, j.contains("index") ? "index" : "offset", 0, 0, kMostMscclppChunks, path));
  SliceOf out;
  BUSBAR_ASSIGN(out.size, integer(j, "size", 1, 1, kMostMscclppChunks, path));
  const auto at = static_cast<std::uint32_t>(first);
  if (j.contains("type")) {
    BUSBAR_ASSIGN(const collectives::PlanBuffer own, buffer(j, "type", path));
    out.places = {{b.rank, own, at}};
    return out;
  }
  const bool by_switch = j.contains("switch_channel_id");
  const auto& known = by_switch ? b.channels : b.buffers;
  BUSBAR_ASSIGN(const std::int64_t id,
                integer(j, by_switch ? "switch_channel_id" : "buffer_id", -1, 0, INT32_MAX, path));
  const auto refs = known.find(by_switch ? "switch" : type);
  if (refs == known.end() || static_cast<std::size_t>(id) >= refs->second.size())
    return fail(path, fmt::format("the thread block has no {} {}", by_switch ? "switch channel" : "remote buffer", id));
  const std::uint32_t number = refs->second[static_cast<std::size_t>(id)];
  if (by_switch) {
    const MscclppSwitch& c = gpus_[b.rank].switches[number];
    for (const std::uint32_t r : c.ranks) out.places.push_back({r, c.buffer, at});
  } else {
    out.places = {{gpus_[b.rank].remote[number].rank, gpus_[b.rank].remote[number].buffer, at}};
  }
  return out;
}

Result<std::vector<MscclppReader::SliceOf>> MscclppReader::slices(const Json& op, const char* key, const Block& b,
                                                                  const std::string& path) const {
  BUSBAR_ASSIGN(const std::vector<Json>* all, list(op, key, path));
  const Json& type = op["channel_type"];
  std::vector<SliceOf> out;
  for (const Json& j : *all) {
    BUSBAR_ASSIGN(SliceOf s, slice(j, type.is_string() ? type.text() : "memory", b,
                                   fmt::format("{}.{}[{}]", path, key, out.size())));
    out.push_back(std::move(s));
  }
  return out;
}

std::uint32_t MscclppReader::step(const Block& b, std::uint32_t count, const std::vector<collectives::PlanSlice>& reads,
                                  const std::vector<collectives::PlanSlice>& writes, bool in_switch) {
  plan().steps.push_back({b.thread, count, 0, in_switch, 0});
  plan().reads.values.insert(plan().reads.values.end(), reads.begin(), reads.end());
  plan().reads.close_row();
  plan().writes.values.insert(plan().writes.values.end(), writes.begin(), writes.end());
  plan().writes.close_row();
  after_.emplace_back();
  packets_in_.push_back(false);
  packets_out_.push_back(false);
  return static_cast<std::uint32_t>(plan().steps.size()) - 1;
}

/// Moves go source by source; reductions add all sources and write the sum everywhere. The unit is a part: in a round
/// of a pipeline its share of every chunk, in a group of thread blocks one block's share of the whole.
Status MscclppReader::add_move(const MscclppOp& name, const Json& op, const Block& b, const std::string& path,
                               std::int64_t round) {
  BUSBAR_ASSIGN(const std::vector<SliceOf> from, slices(op, "src_buff", b, path));
  BUSBAR_ASSIGN(const std::vector<SliceOf> to, slices(op, "dst_buff", b, path));
  if (from.empty() || to.empty()) return fail(path, "needs src_buff and dst_buff");
  const std::int64_t size = from[0].size;
  for (const auto* both : {&from, &to})
    for (const SliceOf& s : *both)
      if (s.size != size) return fail(path, "source and destination differ in size");
  const bool moves = name.kind == MscclppKind::kMove;
  const bool by_switch = name.kind == MscclppKind::kSwitchReduce || name.kind == MscclppKind::kSwitchStore;
  if (moves && from.size() != to.size() && from.size() != 1)
    return fail(path, fmt::format("{} sources for {} destinations", from.size(), to.size()));
  std::int64_t begin = 0, end = size * parts_ * (round < 0 ? rounds_ : 1);
  if (const Json& info = op["tbg_info"]; info.is_object()) {
    BUSBAR_ASSIGN(const std::int64_t group, integer(info, "tbg_size", -1, 1, kMostMscclppParts, path + ".tbg_info"));
    BUSBAR_ASSIGN(const std::int64_t place, integer(info, "tb_id", -1, 0, group - 1, path + ".tbg_info"));
    begin = end / group * place;
    end = end / group * (place + 1);
  }
  const auto emit = [&](const std::vector<collectives::PlanSlice>& reads,
                        const std::vector<collectives::PlanSlice>& writes) {
    const auto placed = [&](std::vector<collectives::PlanSlice> s, std::int64_t shift) {
      for (collectives::PlanSlice& x : s) x.first = static_cast<std::uint32_t>(x.first * out_.parts + shift);
      return s;
    };
    for (std::int64_t at = begin; at < end;) {  // a round has parts_ parts of each chunk, in sequence
      const std::int64_t run = round < 0 ? end - begin : std::min<std::int64_t>(end - at, parts_ - at % parts_);
      const std::int64_t shift = round < 0 ? at : at / parts_ * out_.parts + round * parts_ + at % parts_;
      const std::uint32_t s =
          step(b, static_cast<std::uint32_t>(run), placed(reads, shift), placed(writes, shift), by_switch);
      packets_in_[s] = name.packets_in;
      packets_out_[s] = name.packets_out;
      at += run;
    }
  };
  std::vector<collectives::PlanSlice> reads, writes;
  for (const SliceOf& s : from) reads.insert(reads.end(), s.places.begin(), s.places.end());
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (moves) emit(from[from.size() == 1 ? 0 : i].places, to[i].places);
    writes.insert(writes.end(), to[i].places.begin(), to[i].places.end());
  }
  if (!moves) emit(reads, writes);
  if (!name.signals) return {};
  BUSBAR_ASSIGN(const std::vector<MscclppEnd> channels, ends(op, b, path));
  for (const MscclppEnd& c : channels) use(signals_[c], b, step(b, 0, {}, {}, false), path);
  return {};
}

}  // namespace busbar::formats
