#include "busbar/formats/mscclpp_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "busbar/formats/internal/mscclpp_reader.h"

namespace busbar::formats {
namespace {

// execution_common.hpp: MAX_OPERATION, MAX_CHANNEL, MAX_CHANNEL_PER_OPERATION, MAX_DEVICE_SEMAPHORES.
constexpr std::size_t kMostOperations = 64, kMostChannels = 16, kMostAtOnce = 8, kMostSemaphores = 16;
/// Left free in a thread block when it is filled, for greetings and releases, whose number is not yet known.
constexpr std::size_t kSpareOperations = 12, kSpareChannels = 2;

constexpr std::array<const char*, 2> kChannelTypes{"memory", "port"};

class MscclppWriter {
 public:
  MscclppWriter(const collectives::ExecutionPlan& plan, const MscclppOutput& options) : p_(plan), o_(options) {}

  Result<Json> write() {
    BUSBAR_ASSIGN(const char* const collective, collective_name());
    BUSBAR_RETURN_IF_ERROR(check_steps());
    BUSBAR_RETURN_IF_ERROR(find_order());
    for (const std::uint32_t s : order_) place(s);
    connect();
    BUSBAR_RETURN_IF_ERROR(find_semaphores());
    Json gpus = Json::array();
    for (std::uint32_t r = 0; r < p_.ranks; ++r) {
      BUSBAR_ASSIGN(Json gpu, gpu_of(r));
      gpus.push_back(std::move(gpu));
    }
    return Json{{"name", p_.name},
                {"collective", collective},
                {"protocol", "Simple"},
                {"inplace", p_.in_place},
                {"reuse_resources", false},
                {"gpus", std::move(gpus)},
                {"num_threads_per_block", 1024},
                {"use_double_scratch_buffer", false},
                {"buffer_alignment", 16},
                {"min_message_size", o_.min_bytes},
                {"max_message_size", o_.max_bytes > 0 ? o_.max_bytes : UINT64_MAX}};
  }

 private:
  static constexpr std::uint32_t kNoStep = 0xffff'ffffu;
  struct ThreadBlock {
    std::uint32_t rank = 0;
    std::vector<std::uint32_t> steps;
    std::size_t operations = 0;
    std::set<std::pair<std::uint32_t, bool>> peers;  ///< with whether it sends to them
    std::vector<std::uint32_t> connections;          ///< that it sends or receives on
  };
  /// The messages from one thread block to another. Each has a channel of its own.
  struct Connection {
    std::uint32_t from = 0, to = 0;  ///< thread blocks
    std::size_t type = 0;            ///< of kChannelTypes
    std::size_t at_sender = 0, at_receiver = 0;
  };

  Error unsupported(std::uint32_t s, const std::string& what) const {
    return {ErrorCode::kUnsupported, "MSCCL++ " + what, p_.where(p_.steps[s])};
  }
  Error too_many(std::uint32_t rank, std::size_t n, const char* of, std::size_t most) const {
    return {ErrorCode::kUnsupported,
            fmt::format("rank {} needs {} {}, and MSCCL++ has {}; try --channels 1, another --algorithm or fewer GPUs",
                        rank, n, of, most),
            {p_.file, 0, 0, ""}};
  }
  std::uint32_t rank_of(std::uint32_t s) const { return p_.rank_of(p_.steps[s]); }

  Result<const char*> collective_name() const {
    switch (p_.op) {
      case collectives::Collective::kAllReduce:
        return "allreduce";
      case collectives::Collective::kAllGather:
        return "allgather";
      case collectives::Collective::kReduceScatter:
        return "reducescatter";
      case collectives::Collective::kAllToAll:
        return "alltoall";
      case collectives::Collective::kBroadcast:
        if (p_.root == 0) return "broadcast";
        return Error{ErrorCode::kUnsupported, "a plan of MSCCL++ cannot name the root of a broadcast, so it is 0", {}};
      default:
        return Error{ErrorCode::kUnsupported, fmt::format("MSCCL++ has no {}", collectives::name_of(p_.op)), {}};
    }
  }

  const collectives::PlanSlice* message_in(std::uint32_t s, bool written) const {
    for (const collectives::PlanSlice& x : (written ? p_.writes : p_.reads).row(s))
      if (x.buffer == collectives::PlanBuffer::kMessage) return &x;
    return nullptr;
  }

  /// A step sends one place, or takes one message and perhaps adds one place, or moves or adds within the rank.
  Status check_steps() {
    sender_.assign(p_.steps.size(), kNoStep);
    receiver_.assign(p_.steps.size(), kNoStep);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> sent;
    for (std::uint32_t s = 0; s < p_.steps.size(); ++s) {
      const auto reads = p_.reads.row(s), writes = p_.writes.row(s);
      if (reads.empty() || writes.size() != 1 || reads.size() > 2)
        return unsupported(s, "has no operation that stores in two places, or none");
      const collectives::PlanSlice* const out = message_in(s, true);
      if (out != nullptr && (reads.size() > 1 || message_in(s, false) != nullptr))
        return unsupported(s, "has no operation that takes a message and sends it on");
      for (const collectives::PlanSlice& x : reads)
        if (x.rank != rank_of(s)) return unsupported(s, "plans of ours do not read from other ranks");
      if (out == nullptr && writes[0].rank != rank_of(s))
        return unsupported(s, "plans of ours write to other ranks by messages only");
      if (out != nullptr) sent[{out->rank, out->first}] = s;
    }
    for (std::uint32_t s = 0; s < p_.steps.size(); ++s) {
      const collectives::PlanSlice* const in = message_in(s, false);
      if (in == nullptr) continue;
      const auto from = sent.find({in->rank, in->first});
      if (from == sent.end() || p_.steps[from->second].count != p_.steps[s].count)
        return unsupported(s, "takes messages whole");
      sender_[s] = from->second;
      receiver_[from->second] = s;
    }
    for (const auto& [at, s] : sent)
      if (receiver_[s] == kNoStep) return unsupported(s, "sends no message that is not taken");
    return {};
  }

  /// Steps in an order that all threads, messages and dependencies allow.
  Status find_order() {
    const auto n = static_cast<std::uint32_t>(p_.steps.size());
    std::vector<std::uint32_t> waits(n, 0);
    std::vector<std::vector<std::uint32_t>> next(n);
    const auto before = [&](std::uint32_t a, std::uint32_t b) { next[a].push_back(b), ++waits[b]; };
    for (std::uint32_t s = 0; s < n; ++s) {
      if (s > 0 && p_.steps[s].thread == p_.steps[s - 1].thread) before(s - 1, s);
      for (const std::uint32_t a : p_.after.row(s)) before(a, s);
      if (sender_[s] != kNoStep) before(sender_[s], s);
    }
    for (std::uint32_t s = 0; s < n; ++s)
      if (waits[s] == 0) order_.push_back(s);
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (const std::uint32_t s : next[order_[i]])
        if (--waits[s] == 0) order_.push_back(s);
    if (order_.size() == n) return {};
    return invalid(fmt::format("{}: steps wait for each other", p_.name), {p_.file, 0, 0, ""});
  }

  /// Puts the step at the end of its channel's thread block, or of a new one if that one is full.
  void place(std::uint32_t s) {
    if (block_of_.empty()) block_of_.assign(p_.steps.size(), kNoStep);
    const collectives::PlanStep& step = p_.steps[s];
    const std::uint32_t rank = rank_of(s);
    const auto [open, fresh] = open_.try_emplace({rank, step.channel}, blocks_.size());
    if (fresh) blocks_.push_back({rank, {}, 0, {}, {}});
    const collectives::PlanSlice* const out = message_in(s, true);
    const bool sends = out != nullptr, takes = sender_[s] != kNoStep;
    const std::uint32_t peer = sends ? out->rank : takes ? rank_of(sender_[s]) : rank;
    std::size_t cost = sends ? 3 : takes ? 4 : 2;  // with the barriers of the thread block
    for (const std::uint32_t a : p_.after.row(s))
      if (rank_of(a) == rank && block_of_[a] != open->second) {
        cost += 2;
        break;
      }
    const ThreadBlock& now = blocks_[open->second];
    const std::size_t peers = now.peers.size() + (now.peers.count({peer, sends}) == 0);
    if (now.operations + cost + kSpareOperations > kMostOperations || peers + kSpareChannels > kMostChannels) {
      open->second = blocks_.size();
      follows_[static_cast<std::uint32_t>(blocks_.size())] = now.steps.back();
      blocks_.push_back({rank, {}, 2, {}, {}});
    }
    ThreadBlock& b = blocks_[open->second];
    b.steps.push_back(s);
    b.operations += cost;
    if (peer != rank) b.peers.insert({peer, sends});
    block_of_[s] = static_cast<std::uint32_t>(open->second);
    place_in_block_.resize(p_.steps.size());
    place_in_block_[s] = b.steps.size() - 1;
  }

  /// Channels are numbered in one order for all ranks, because the n-th channel to a peer meets its n-th one back.
  void connect() {
    for (std::uint32_t s = 0; s < p_.steps.size(); ++s)
      if (sender_[s] != kNoStep) connection_at_[{block_of_[sender_[s]], block_of_[s]}] = 0;
    channels_.resize(p_.ranks);
    for (auto& [ends, number] : connection_at_) {
      const std::uint32_t from = blocks_[ends.first].rank, to = blocks_[ends.second].rank;
      Connection c{ends.first, ends.second, o_.node[from] == o_.node[to] ? 0u : 1u};
      for (const bool sender : {true, false}) {
        auto& list = channels_[sender ? from : to][c.type];
        (sender ? c.at_sender : c.at_receiver) = list.size();
        list.push_back(sender ? to : from);
      }
      number = static_cast<std::uint32_t>(connections_.size());
      blocks_[ends.first].connections.push_back(number);
      blocks_[ends.second].connections.push_back(number);
      connections_.push_back(c);
    }
  }

  /// One semaphore for each pair of thread blocks of which one waits for the other. The k-th acquisition meets the
  /// k-th release, so a step only waits for a later step than the steps before it.
  Status find_semaphores() {
    acquires_.resize(p_.steps.size());
    releases_.resize(p_.steps.size());
    semaphores_.assign(p_.ranks, 0);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::size_t>> waited;  // number, place
    for (std::uint32_t b = 0; b < blocks_.size(); ++b)
      for (const std::uint32_t s : blocks_[b].steps) {
        std::vector<std::uint32_t> after;
        for (const std::uint32_t a : p_.after.row(s)) {
          if (rank_of(a) == blocks_[b].rank)
            after.push_back(a);
          else if (a != sender_[s])
            return unsupported(s, "has no wait for a step of another rank without its message");
        }
        if (place_in_block_[s] == 0 && follows_.count(b) > 0) after.push_back(follows_[b]);
        std::sort(after.begin(), after.end(), [&](auto x, auto y) { return place_in_block_[x] > place_in_block_[y]; });
        for (const std::uint32_t a : after) {
          if (block_of_[a] == b) continue;
          const auto [it, fresh] = waited.try_emplace({block_of_[a], b}, semaphores_[blocks_[b].rank], 0);
          auto& [number, place] = it->second;
          if (fresh) ++semaphores_[blocks_[b].rank];
          if (!fresh && place_in_block_[a] <= place) continue;
          place = place_in_block_[a];
          acquires_[s].push_back(number);
          releases_[a].push_back(number);
        }
      }
    for (std::uint32_t r = 0; r < p_.ranks; ++r)
      if (semaphores_[r] > kMostSemaphores) return too_many(r, semaphores_[r], "semaphores", kMostSemaphores);
    return {};
  }

  Result<Json> gpu_of(std::uint32_t r) const {
    Json channels = Json::array(), remote = Json::array(), semaphores = Json::array(), blocks = Json::array();
    std::map<std::uint32_t, std::size_t> buffer_of;  // scratch of another rank, by that rank
    for (std::size_t type = 0; type < kChannelTypes.size(); ++type) {
      if (const auto& peers = channels_[r][type]; !peers.empty())
        channels.push_back({{"channel_type", kChannelTypes[type]}, {"connected_to", Json(peers)}});
    }
    for (const Connection& c : connections_) {
      const std::uint32_t to = blocks_[c.to].rank;
      if (blocks_[c.from].rank != r || !buffer_of.emplace(to, buffer_of.size()).second) continue;
      remote.push_back({{"rank", to}, {"type", "s"}, {"access_channel_types", Json::array({kChannelTypes[c.type]})}});
    }
    for (std::uint32_t i = 0; i < semaphores_[r]; ++i) semaphores.push_back({{"init_value", 0u}});
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
      if (blocks_[b].rank != r) continue;
      BUSBAR_ASSIGN(Json block, BlockWriter(*this, b, buffer_of).write(static_cast<std::uint32_t>(blocks.size())));
      blocks.push_back(std::move(block));
    }
    return Json{{"id", r},
                {"input_chunks", collectives::input_chunks(p_)},
                {"output_chunks", collectives::output_chunks(p_)},
                {"scratch_chunks", p_.scratch[r] + p_.messages[r]},
                {"threadblocks", std::move(blocks)},
                {"channels", std::move(channels)},
                {"remote_buffers", std::move(remote)},
                {"semaphores", std::move(semaphores)}};
  }

  /// Writes one thread block. Channels and buffers have numbers within it, per type.
  class BlockWriter {
   public:
    BlockWriter(const MscclppWriter& w, std::uint32_t b, const std::map<std::uint32_t, std::size_t>& buffer_of)
        : w_(w), b_(b), block_(w.blocks_[b]), buffer_of_(buffer_of) {}

    Result<Json> write(std::uint32_t id) {
      greet();
      for (const std::uint32_t s : block_.steps) step(s);
      if (ops_.size() > kMostOperations)
        return w_.too_many(block_.rank, ops_.size(), "operations in a thread block", kMostOperations);
      Json channels = Json::array(), buffers = Json::array();
      for (std::size_t type = 0; type < kChannelTypes.size(); ++type) {
        if (ids_[type].size() > kMostChannels)
          return w_.too_many(block_.rank, ids_[type].size(), "channels in a thread block", kMostChannels);
        if (!ids_[type].empty())
          channels.push_back({{"channel_type", kChannelTypes[type]}, {"channel_ids", Json(ids_[type])}});
        if (!buffers_[type].empty())
          buffers.push_back(
              {{"access_channel_type", kChannelTypes[type]}, {"remote_buffer_ids", Json(buffers_[type])}});
      }
      return Json{{"id", id},
                  {"ops", std::move(ops_)},
                  {"channels", std::move(channels)},
                  {"remote_buffer_refs", std::move(buffers)}};
    }

   private:
    /// Receivers say that their scratch buffer is free; senders wait for that. The plan before may still have used it.
    void greet() {
      bool waits = false;
      for (const bool sender : {false, true})
        for (std::size_t type = 0; type < kChannelTypes.size(); ++type) {
          std::vector<std::size_t> ids;
          for (const std::uint32_t c : block_.connections)
            if (w_.connections_[c].type == type && (w_.connections_[c].from == b_) == sender)
              ids.push_back(channel(c, sender));
          for (std::size_t i = 0; i < ids.size(); i += kMostAtOnce) {
            const std::vector<std::size_t> some(
                ids.begin() + static_cast<std::ptrdiff_t>(i),
                ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), i + kMostAtOnce)));
            const char* const name = type == 0 ? (sender ? "rlxwait" : "rlxsignal") : (sender ? "wait" : "signal");
            ops_.push_back({{"name", name}, {"channel_ids", Json(some)}, {"channel_type", kChannelTypes[type]}});
            waits = waits || sender;
          }
        }
      if (waits) barrier();
    }

    void step(std::uint32_t s) {
      if (!w_.acquires_[s].empty()) {
        ops_.push_back({{"name", "sem_acquire"}, {"semaphore_ids", Json(w_.acquires_[s])}});
        barrier();
      }
      if (const collectives::PlanSlice* const out = w_.message_in(s, true))
        send(s, *out);
      else
        take(s);
      if (!w_.releases_[s].empty()) ops_.push_back({{"name", "sem_release"}, {"semaphore_ids", Json(w_.releases_[s])}});
    }

    void send(std::uint32_t s, const collectives::PlanSlice& out) {
      const std::uint32_t number = w_.connection_at_.at({b_, w_.block_of_[w_.receiver_[s]]});
      const std::size_t type = w_.connections_[number].type, id = channel(number, true);
      Json op{{"name", type == 0 ? "put" : "pwsf"},
              {"src_buff", Json::array({own(w_.p_.reads.row(s)[0], s)})},
              {"dst_buff", Json::array({{{"buffer_id", buffer(out.rank, type)},
                                         {"index", w_.p_.scratch[out.rank] + out.first},
                                         {"size", w_.p_.steps[s].count}}})}};
      if (type == 1) op["channel_ids"] = Json::array({Json(id)});
      op["channel_type"] = kChannelTypes[type];
      ops_.push_back(std::move(op));
      barrier();
      if (type == 0)
        ops_.push_back({{"name", "signal"}, {"channel_ids", Json::array({Json(id)})}, {"channel_type", "memory"}});
    }

    void take(std::uint32_t s) {
      if (w_.sender_[s] != kNoStep) {
        const std::uint32_t number = w_.connection_at_.at({w_.block_of_[w_.sender_[s]], b_});
        ops_.push_back({{"name", "wait"},
                        {"channel_ids", Json::array({Json(channel(number, false))})},
                        {"channel_type", kChannelTypes[w_.connections_[number].type]}});
        barrier();
      }
      Json from = Json::array();
      const auto reads = w_.p_.reads.row(s);
      for (const bool messages : {false, true})  // MSCCL++ adds the others to the first
        for (const collectives::PlanSlice& x : reads)
          if ((x.buffer == collectives::PlanBuffer::kMessage) == messages) from.push_back(own(x, s));
      Json op{{"name", reads.size() == 1 ? "copy" : "re"},
              {"src_buff", std::move(from)},
              {"dst_buff", Json::array({own(w_.p_.writes.row(s)[0], s)})}};
      if (reads.size() > 1) op["reduce_op"] = "sum";
      ops_.push_back(std::move(op));
      barrier();
    }

    /// All threads of the block wait for each other.
    void barrier() { ops_.push_back({{"name", "nop"}}); }

    Json own(const collectives::PlanSlice& x, std::uint32_t s) const {
      static constexpr const char* kBuffers[] = {"i", "o", "s", "s"};
      const std::uint32_t shift = x.buffer == collectives::PlanBuffer::kMessage ? w_.p_.scratch[x.rank] : 0;
      return {{"type", kBuffers[static_cast<std::size_t>(x.buffer)]},
              {"index", shift + x.first},
              {"size", w_.p_.steps[s].count}};
    }

    static std::size_t number_in(std::vector<std::size_t>& list, std::size_t value) {
      const auto at = std::find(list.begin(), list.end(), value);
      const auto n = static_cast<std::size_t>(at - list.begin());
      if (at == list.end()) list.push_back(value);
      return n;
    }
    std::size_t channel(std::uint32_t connection, bool sender) {
      const Connection& c = w_.connections_[connection];
      return number_in(ids_[c.type], sender ? c.at_sender : c.at_receiver);
    }
    std::size_t buffer(std::uint32_t rank, std::size_t type) { return number_in(buffers_[type], buffer_of_.at(rank)); }

    const MscclppWriter& w_;
    std::uint32_t b_;
    const ThreadBlock& block_;
    const std::map<std::uint32_t, std::size_t>& buffer_of_;
    Json ops_ = Json::array();
    std::array<std::vector<std::size_t>, 2> ids_, buffers_;  ///< numbers on the GPU, per type
  };

  const collectives::ExecutionPlan& p_;
  const MscclppOutput& o_;
  std::vector<std::uint32_t> sender_,
      receiver_;  ///< per step: where the message that it takes or sends is sent or taken
  std::vector<std::uint32_t> order_;
  std::vector<ThreadBlock> blocks_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> open_;  ///< per rank and channel
  std::map<std::uint32_t, std::uint32_t> follows_;  ///< per block that continues another: the last step of that one
  std::vector<std::uint32_t> block_of_;
  std::vector<std::size_t> place_in_block_;
  std::vector<Connection> connections_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> connection_at_;  ///< by blocks
  std::vector<std::array<std::vector<std::uint32_t>, 2>> channels_;                 ///< per rank and type: peers
  std::vector<std::vector<std::uint32_t>> acquires_, releases_;                     ///< per step
  std::vector<std::uint32_t> semaphores_;                                           ///< per rank
};

}  // namespace

Result<Json> write_mscclpp_plan(const collectives::ExecutionPlan& plan, const MscclppOutput& options) {
  BUSBAR_ASSIGN(Json out, MscclppWriter(plan, options).write());
  BUSBAR_ASSIGN(const MscclppPlan back, MscclppReader(plan.name).read(out));
  const Result<collectives::PlanProof> proof = collectives::prove(back.plan);
  if (!proof.ok()) return proof.error();
  return out;
}

}  // namespace busbar::formats
