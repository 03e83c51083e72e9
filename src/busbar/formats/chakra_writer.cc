#include "busbar/formats/chakra_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace busbar::formats {
namespace {

constexpr std::uint32_t kComputation = 4, kSend = 5, kReceive = 6;  ///< NodeType of et_def.proto

/// One message of protobuf's wire format.
class WireMessage {
 public:
  WireMessage& number(std::uint32_t field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  WireMessage& bytes(std::uint32_t field, std::string_view value) {
    varint(field << 3 | 2u);
    varint(value.size());
    text_ += value;
    return *this;
  }
  /// An attribute with a value in the field of its type.
  WireMessage& attribute(std::string_view name, std::uint32_t type, std::uint64_t value) {
    return bytes(10, WireMessage().bytes(1, name).number(type, value).text());
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  void append(std::string_view more) { text_ += more; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

constexpr std::uint32_t kInt32 = 7, kInt64 = 9, kBool = 27;  ///< fields of AttributeProto

struct WrittenNode {
  std::string name;
  std::uint32_t type = 0;
  std::uint64_t microseconds = 0, bytes = 0;
  std::uint32_t from = 0, to = 0, tag = 0;
  std::vector<std::uint64_t> after;
};

class ChakraWriter {
 public:
  explicit ChakraWriter(const program::MessageGraph& g) : g_(g), nodes_(g.ranks) {}

  Result<std::vector<std::string>> write() {
    for (const program::MessageTask& m : g_.tasks) {
      if (m.from == program::MessageTask::kSwitch || m.to == program::MessageTask::kSwitch)
        return Error{ErrorCode::kUnsupported, "Chakra has no switches that reduce", {}};
      tasks_.push_back(m.is_work() ? work(m) : message(m.from, m.to, count(m.bytes)));
    }
    for (std::uint32_t t = 0; t < g_.tasks.size(); ++t)
      for (const program::TaskEdge& e : g_.after.row(t)) BUSBAR_RETURN_IF_ERROR(depend(t, e));
    std::vector<std::string> out;
    for (const auto& nodes : nodes_) out.push_back(file_of(nodes));
    return out;
  }

 private:
  /// Ids of a task's nodes; of work, both are the same.
  struct Ids {
    std::uint64_t send = 0, receive = 0;
  };

  Ids work(const program::MessageTask& m) {
    constexpr std::int64_t kPicoseconds = 1'000'000;  // of a microsecond
    const std::uint64_t id = nodes_[m.from].size();
    const auto us = static_cast<std::uint64_t>((m.work.in_ps() + kPicoseconds - 1) / kPicoseconds);
    nodes_[m.from].push_back({fmt::format("COMP_NODE_{}", id), kComputation, us, 0, m.from, m.from, 0, {}});
    return {id, id};
  }
  Ids message(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
    const std::uint32_t tag = tags_[{from, to}]++;
    const Ids ids{nodes_[from].size(), nodes_[to].size()};
    const std::uint64_t size = std::max<std::uint64_t>(bytes, 1);
    nodes_[from].push_back({fmt::format("COMM_SEND_NODE_{}", ids.send), kSend, 0, size, from, to, tag, {}});
    nodes_[to].push_back({fmt::format("COMM_RECV_NODE_{}", ids.receive), kReceive, 0, size, from, to, tag, {}});
    return ids;
  }

  Status depend(std::uint32_t t, const program::TaskEdge& e) {
    if (e.event == program::TaskEvent::kStarted)
      return Error{ErrorCode::kUnsupported, "in Chakra no node waits for the start of another", {}};
    const program::MessageTask& before = g_.tasks[e.task];
    const std::uint32_t rank = g_.tasks[t].from;
    const bool arrives = !before.is_work() && e.event == program::TaskEvent::kDone;
    const std::uint32_t where = arrives ? before.to : before.from;
    const std::uint64_t id = arrives ? tasks_[e.task].receive : tasks_[e.task].send;
    if (where == rank) {
      nodes_[rank][tasks_[t].send].after.push_back(id);
      return {};
    }
    const Ids tells = message(where, rank, 0);
    nodes_[where][tells.send].after.push_back(id);
    nodes_[rank][tasks_[t].send].after.push_back(tells.receive);
    return {};
  }

  static std::string node_of(std::uint64_t id, const WrittenNode& n) {
    WireMessage w;
    w.number(1, id).bytes(2, n.name).number(3, n.type);
    if (!n.after.empty()) {
      WireMessage packed;
      for (const std::uint64_t a : n.after) packed.varint(a);
      w.bytes(5, packed.text());
    }
    if (n.microseconds > 0) w.number(7, n.microseconds);
    w.attribute("is_cpu_op", kBool, 0);
    if (n.type == kComputation) return w.text();
    w.attribute("comm_type", kInt64, n.type).attribute("comm_size", kInt64, n.bytes);
    w.attribute("comm_src", kInt32, n.from).attribute("comm_dst", kInt32, n.to).attribute("comm_tag", kInt32, n.tag);
    return w.text();
  }

  static std::string file_of(const std::vector<WrittenNode>& nodes) {
    WireMessage out;
    const auto add = [&out](const std::string& message) {
      out.varint(message.size());
      out.append(message);
    };
    add(WireMessage().bytes(2, WireMessage().bytes(1, "schema").bytes(29, "1.0.2-chakra.0.0.4").text()).text());
    for (std::uint64_t id = 0; id < nodes.size(); ++id) add(node_of(id, nodes[id]));
    return out.text();
  }

  const program::MessageGraph& g_;
  std::vector<std::vector<WrittenNode>> nodes_;  ///< per rank
  std::vector<Ids> tasks_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> tags_;  ///< next, by sender and receiver
};

}  // namespace

Result<std::vector<std::string>> write_chakra(const program::MessageGraph& graph) {
  return ChakraWriter(graph).write();
}

}  // namespace busbar::formats
