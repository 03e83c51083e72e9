#include "busbar/formats/internal/mscclpp_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "busbar/formats/internal/mscclpp_reader.h"
#include "busbar/formats/json_text.h"

namespace busbar::formats {
namespace {

constexpr std::uint64_t kMostPartsInAll = std::uint64_t{1} << 22;  ///< parts of chunks of all ranks together

}  // namespace

Result<const std::vector<Json>*> MscclppReader::list(const Json& j, const char* key, const std::string& path) const {
  if (j.contains(key) && !j[key].is_array()) return fail(path + "." + key, "must be a list");
  return &j[key].values();
}

Result<std::int64_t> MscclppReader::integer(const Json& j, const char* key, std::int64_t otherwise, std::int64_t low,
                                            std::int64_t high, const std::string& path) const {
  if (!j.contains(key)) {
    if (otherwise < low) return fail(path, fmt::format("lacks '{}'", key));
    return otherwise;
  }
  const Json& value = j[key];
  if (value.is_natural() && value.natural() > static_cast<std::uint64_t>(high))
    return fail(path + "." + key, fmt::format("must be at most {}", high));
  if (!value.is_natural() || static_cast<std::int64_t>(value.natural()) < low)
    return fail(path + "." + key, fmt::format("must be a whole number from {} to {}", low, high));
  return static_cast<std::int64_t>(value.natural());
}

Result<std::string> MscclppReader::word(const Json& j, const char* key, const std::string& path) const {
  if (!j[key].is_string()) return fail(path, fmt::format("lacks the word '{}'", key));
  return j[key].text();
}

Result<collectives::PlanBuffer> MscclppReader::buffer(const Json& j, const char* key, const std::string& path) const {
  BUSBAR_ASSIGN(const std::string type, word(j, key, path));
  if (type == "i") return collectives::PlanBuffer::kInput;
  if (type == "o") return collectives::PlanBuffer::kOutput;
  if (type == "s") return collectives::PlanBuffer::kScratch;
  return fail(path + "." + key, fmt::format("'{}' is not i (input), o (output) or s (scratch)", type));
}

void MscclppReader::use(Used& u, const Block& b, std::uint32_t step, const std::string& path) {
  if (!u.steps.empty() && u.thread != b.thread && shared_.ok())
    shared_ = Error{ErrorCode::kUnsupported,
                    "two thread blocks share this channel or semaphore: their order is open",
                    {plan().file, 0, 0, path}};
  u.thread = b.thread;
  u.path = path;
  u.steps.push_back(step);
}

Status MscclppReader::read_head(const Json& root) {
  if (!root.is_object()) return fail("", "is not an execution plan");
  add_unknown_keys(out_.unknown, root, "",
                   {"name", "collective", "protocol", "inplace", "reuse_resources", "use_double_scratch_buffer",
                    "buffer_alignment", "num_threads_per_block", "min_message_size", "max_message_size", "gpus"});
  BUSBAR_ASSIGN(plan().name, word(root, "name", ""));
  BUSBAR_ASSIGN(const std::string collective, word(root, "collective", ""));
  BUSBAR_ASSIGN(out_.protocol, word(root, "protocol", ""));
  if (out_.protocol != "Simple" && out_.protocol != "LL")
    return fail("protocol", fmt::format("'{}' is not Simple or LL", out_.protocol));
  const Result<collectives::Collective> op = collectives::parse_collective(collective);
  if (!op.ok() || *op == collectives::Collective::kSendRecv || *op == collectives::Collective::kAllToAllV)
    return fail("collective",
                fmt::format("'{}' is not a collective whose result is known, so nothing can be proved; known are "
                            "allreduce, allgather, reducescatter, alltoall, broadcast",
                            collective));
  plan().op = *op;
  plan().in_place = root["inplace"].is_boolean() && root["inplace"].truth();
  BUSBAR_ASSIGN(const std::int64_t least, integer(root, "min_message_size", 0, 0, INT64_MAX, ""));
  out_.min_bytes = static_cast<std::uint64_t>(least);
  if (const Json& most = root["max_message_size"]; most.is_natural())
    out_.max_bytes = most.natural() == UINT64_MAX ? 0 : most.natural();
  return {};
}

Result<MscclppPlan> MscclppReader::read(const Json& root) {
  BUSBAR_RETURN_IF_ERROR(read_head(root));
  BUSBAR_ASSIGN(const std::vector<Json>* gpus, list(root, "gpus", ""));
  if (gpus->empty() || gpus->size() > 4096) return fail("gpus", "must list 1 to 4096 GPUs");
  plan().ranks = static_cast<std::uint32_t>(gpus->size());
  std::int64_t chunks = 0;
  for (std::uint32_t r = 0; r < plan().ranks; ++r) {
    const Json& gpu = (*gpus)[r];
    const std::string path = fmt::format("gpus[{}]", r);
    if (!gpu.is_object()) return fail(path, "must be a map");
    BUSBAR_ASSIGN(const std::int64_t id, integer(gpu, "id", -1, 0, 4095, path));
    if (id != r) return fail(path + ".id", fmt::format("GPU {} where GPU {} is expected: they count up from 0", id, r));
    BUSBAR_ASSIGN(const std::int64_t in, integer(gpu, "input_chunks", 0, 0, kMostMscclppChunks, path));
    BUSBAR_ASSIGN(const std::int64_t out, integer(gpu, "output_chunks", 0, 0, kMostMscclppChunks, path));
    BUSBAR_ASSIGN(const std::int64_t scratch, integer(gpu, "scratch_chunks", 0, 0, kMostMscclppChunks, path));
    chunks = std::max(chunks, plan().op == collectives::Collective::kAllGather ? out : in);
    plan().scratch.push_back(static_cast<std::uint32_t>(scratch));
    BUSBAR_ASSIGN(const std::vector<Json>* blocks, list(gpu, "threadblocks", path));
    for (const Json& tb : *blocks) {
      if (!tb.is_object()) return fail(path + ".threadblocks", "must be maps");
      BUSBAR_ASSIGN(const std::vector<Json>* ops, list(tb, "ops", path));
      BUSBAR_RETURN_IF_ERROR(find_parts(*ops, path, 0));
    }
  }
  if (chunks == 0) return fail("gpus", "have no chunks");
  out_.parts = parts_ * rounds_;
  plan().chunks = static_cast<std::uint32_t>(chunks) * out_.parts;
  if (std::uint64_t{plan().chunks} * plan().ranks > kMostPartsInAll)
    return fail("gpus",
                fmt::format("{} parts of chunks are too many; at most {} in all", plan().chunks, kMostPartsInAll));
  for (std::uint32_t& s : plan().scratch) s *= out_.parts;
  plan().messages.assign(plan().ranks, 0);
  for (std::uint32_t r = 0; r < plan().ranks; ++r)
    BUSBAR_RETURN_IF_ERROR(read_channels((*gpus)[r], gpus_.emplace_back(), fmt::format("gpus[{}]", r)));
  for (std::uint32_t r = 0; r < plan().ranks; ++r)
    BUSBAR_RETURN_IF_ERROR(read_gpu((*gpus)[r], r, fmt::format("gpus[{}]", r)));
  BUSBAR_RETURN_IF_ERROR(shared_);
  BUSBAR_RETURN_IF_ERROR(match_signals());
  BUSBAR_RETURN_IF_ERROR(match_semaphores());
  match_barriers();
  match_packets();
  for (const auto& row : after_) {
    plan().after.values.insert(plan().after.values.end(), row.begin(), row.end());
    plan().after.close_row();
  }
  return std::move(out_);
}

/// Into how many parts chunks must be cut, for groups of thread blocks that share a step and for rounds of pipelines.
Status MscclppReader::find_parts(const std::vector<Json>& ops, const std::string& path, int depth) {
  for (const Json& op : ops) {
    if (!op.is_object()) continue;
    if (const Json& info = op["tbg_info"]; info.is_object()) {
      BUSBAR_ASSIGN(const std::int64_t size, integer(info, "tbg_size", -1, 1, kMostMscclppParts, path + ".tbg_info"));
      parts_ = std::lcm(parts_, static_cast<std::uint32_t>(size));
      if (parts_ > kMostMscclppParts)
        return fail(path, fmt::format("groups of thread blocks need more than {} parts", kMostMscclppParts));
    }
    if (!op["ops"].is_array()) continue;
    if (depth > 0) return fail(path, "a pipeline in a pipeline");
    rounds_ = 2;
    BUSBAR_RETURN_IF_ERROR(find_parts(op["ops"].values(), path, depth + 1));
  }
  return {};
}

Status MscclppReader::read_channels(const Json& gpu, MscclppGpu& g, const std::string& path) {
  BUSBAR_ASSIGN(const std::vector<Json>* channels, list(gpu, "channels", path));
  const auto ranks = [&](const std::vector<Json>& list, std::vector<std::uint32_t>& out) -> Status {
    for (const Json& r : list) {
      if (!r.is_natural() || r.natural() >= plan().ranks)
        return fail(path + ".channels", fmt::format("'{}' is not a rank", r.dump()));
      out.push_back(static_cast<std::uint32_t>(r.natural()));
    }
    return {};
  };
  for (const Json& c : *channels) {
    if (!c.is_object()) return fail(path + ".channels", "must be maps");
    add_unknown_keys(out_.unknown, c, "gpus.channels.",
                     {"channel_type", "connected_to", "buffer_type", "buff", "rank_groups"});
    BUSBAR_ASSIGN(const std::string type, word(c, "channel_type", path + ".channels"));
    if (type != "switch") {
      BUSBAR_ASSIGN(const std::vector<Json>* peers, list(c, "connected_to", path + ".channels"));
      BUSBAR_RETURN_IF_ERROR(ranks(*peers, g.peers[type]));
      continue;
    }
    BUSBAR_ASSIGN(const collectives::PlanBuffer b,
                  buffer(c, c.contains("buffer_type") ? "buffer_type" : "buff", path + ".channels"));
    BUSBAR_ASSIGN(const std::vector<Json>* groups, list(c, "rank_groups", path + ".channels"));
    for (const Json& group : *groups) {
      if (!group.is_object()) return fail(path + ".channels.rank_groups", "must be maps");
      BUSBAR_ASSIGN(const std::vector<Json>* members, list(group, "ranks", path + ".channels.rank_groups"));
      g.switches.push_back({b, {}});
      BUSBAR_RETURN_IF_ERROR(ranks(*members, g.switches.back().ranks));
    }
  }
  BUSBAR_ASSIGN(const std::vector<Json>* remote, list(gpu, "remote_buffers", path));
  for (const Json& r : *remote) {
    if (!r.is_object()) return fail(path + ".remote_buffers", "must be maps");
    BUSBAR_ASSIGN(const std::int64_t rank, integer(r, "rank", -1, 0, plan().ranks - 1, path + ".remote_buffers"));
    BUSBAR_ASSIGN(const collectives::PlanBuffer b, buffer(r, "type", path + ".remote_buffers"));
    g.remote.push_back({static_cast<std::uint32_t>(rank), b});
  }
  BUSBAR_ASSIGN(const std::vector<Json>* semaphores, list(gpu, "semaphores", path));
  for (const Json& s : *semaphores) {
    if (!s.is_object()) return fail(path + ".semaphores", "must be maps");
    BUSBAR_ASSIGN(const std::int64_t value, integer(s, "init_value", 0, 0, INT32_MAX, path + ".semaphores"));
    g.semaphores.push_back(value);
  }
  return {};
}

Status MscclppReader::read_gpu(const Json& gpu, std::uint32_t rank, const std::string& path) {
  add_unknown_keys(out_.unknown, gpu, "gpus.",
                   {"id", "input_chunks", "output_chunks", "scratch_chunks", "channels", "remote_buffers", "semaphores",
                    "threadblocks"});
  BUSBAR_ASSIGN(const std::vector<Json>* blocks, list(gpu, "threadblocks", path));
  for (std::size_t i = 0; i < blocks->size(); ++i)
    BUSBAR_RETURN_IF_ERROR(read_block((*blocks)[i], rank, fmt::format("{}.threadblocks[{}]", path, i)));
  return {};
}

Status MscclppReader::read_block(const Json& tb, std::uint32_t rank, const std::string& path) {
  if (!tb.is_object()) return fail(path, "must be a map");
  add_unknown_keys(out_.unknown, tb, "gpus.threadblocks.", {"id", "channels", "remote_buffer_refs", "ops"});
  Block b;
  b.rank = rank;
  b.thread = static_cast<std::uint32_t>(plan().thread_rank.size());
  plan().thread_rank.push_back(rank);
  for (const bool channels : {true, false}) {
    BUSBAR_ASSIGN(const std::vector<Json>* refs, list(tb, channels ? "channels" : "remote_buffer_refs", path));
    for (const Json& c : *refs) {
      if (!c.is_object()) return fail(path, "must list maps");
      BUSBAR_ASSIGN(const std::string type, word(c, channels ? "channel_type" : "access_channel_type", path));
      BUSBAR_ASSIGN(const std::vector<Json>* ids, list(c, channels ? "channel_ids" : "remote_buffer_ids", path));
      for (const Json& id : *ids) {
        const std::size_t most = !channels          ? gpus_[rank].remote.size()
                                 : type == "switch" ? gpus_[rank].switches.size()
                                                    : gpus_[rank].peers[type].size();
        if (!id.is_natural() || id.natural() >= most)
          return fail(path, fmt::format("there is no {} {} '{}'", type, channels ? "channel" : "buffer", id.dump()));
        (channels ? b.channels : b.buffers)[type].push_back(static_cast<std::uint32_t>(id.natural()));
      }
    }
  }
  BUSBAR_ASSIGN(const std::vector<Json>* ops, list(tb, "ops", path));
  return read_ops(*ops, b, path + ".ops", -1);
}

Status MscclppReader::read_ops(const std::vector<Json>& ops, Block& b, const std::string& path, std::int64_t round) {
  for (std::size_t i = 0; i < ops.size(); ++i)
    BUSBAR_RETURN_IF_ERROR(read_op(ops[i], b, fmt::format("{}[{}]", path, i), round));
  return {};
}

Result<MscclppPlan> read_mscclpp_plan(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(const Json root, parse_json(text, name));
  return MscclppReader(name).read(root);
}

bool looks_like_mscclpp_plan(std::string_view head) {
  const std::size_t at = head.find_first_not_of(" \t\r\n");
  return at != head.npos && head[at] == '{' && head.find("\"collective\"") != head.npos &&
         head.find("\"gpus\"") != head.npos && head.find("\"protocol\"") != head.npos;
}

}  // namespace busbar::formats
