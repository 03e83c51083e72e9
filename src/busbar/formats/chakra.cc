#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "busbar/formats/internal/chakra_nodes.h"
#include "busbar/formats/json_text.h"

namespace busbar::formats {
namespace {

constexpr std::uint64_t kMostMessageBytes = std::uint64_t{256} << 20;  ///< per message

/// Reads the fields of one message in protobuf's wire format.
class WireFields {
 public:
  WireFields(std::string_view data, std::uint64_t offset) : data_(data), offset_(offset) {}

  std::uint32_t number = 0, type = 0;
  std::uint64_t value = 0;  ///< for types 0, 1 and 5
  std::string_view bytes;   ///< for type 2
  std::uint64_t at = 0;     ///< where `bytes` starts in the file

  /// False at the end of the message; failed() tells whether the data is broken.
  bool next() {
    if (data_.empty()) return false;
    std::uint64_t key = 0;
    if (!varint(key)) return fail();
    number = static_cast<std::uint32_t>(key >> 3);
    type = key & 7;
    if (number == 0) return fail();
    if (type == 0) return varint(value) || fail();
    if (type == 1 || type == 5) {
      const std::size_t size = type == 1 ? 8 : 4;
      if (data_.size() < size) return fail();
      value = 0;
      for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{static_cast<unsigned char>(data_[i])} << (8 * i);
      skip(size);
      return true;
    }
    std::uint64_t size = 0;
    if (type != 2 || !varint(size) || size > data_.size()) return fail();
    bytes = data_.substr(0, size);
    at = offset_;
    skip(size);
    return true;
  }
  bool failed() const { return failed_; }
  std::uint64_t offset() const { return offset_; }

 private:
  bool varint(std::uint64_t& out) {
    out = 0;
    for (std::size_t i = 0; i < data_.size() && i < 10; ++i) {
      const auto byte = static_cast<unsigned char>(data_[i]);
      out |= std::uint64_t{byte & 0x7fu} << (7 * i);
      if (byte < 0x80) {
        skip(i + 1);
        return true;
      }
    }
    return false;
  }
  void skip(std::size_t n) {
    data_.remove_prefix(n);
    offset_ += n;
  }
  bool fail() {
    failed_ = true;
    return false;
  }
  std::string_view data_;
  std::uint64_t offset_;
  bool failed_ = false;
};

double as_double(std::uint64_t bits) {
  double out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return std::isfinite(out) ? out : 0;
}

struct Attribute {
  std::string_view name, text;
  std::uint64_t number = 0;
  double real = 0;
  bool has_false = false;  ///< in a list of booleans
};

/// Whether a list of booleans, single or packed, contains false.
bool holds_zero(std::string_view list, std::uint64_t at) {
  WireFields f(list, at);
  while (f.next())
    if (f.number == 1 && (f.type == 0 ? f.value == 0 : f.bytes.find('\0') != f.bytes.npos)) return true;
  return false;
}

class ChakraReader {
 public:
  explicit ChakraReader(const std::string& name, std::vector<TraceNode>* nodes = nullptr)
      : name_(name), nodes_(nodes) {}

  Result<CommTrace> read(std::istream& in) {
    std::string message;
    std::uint64_t at = 0;
    const std::size_t before = nodes_ == nullptr ? 0 : nodes_->size();
    for (bool first = true;; first = false) {
      std::uint64_t size = 0;
      const std::uint64_t begin = at;
      const int length = read_varint(in, size);
      if (length == 0) break;
      at += static_cast<std::uint64_t>(length < 0 ? 0 : length);
      if (length < 0 || size > kMostMessageBytes) return broken(begin, "is not a length of a message");
      if (!read_bytes(in, size, message)) return broken(at, "the file ends within a message");
      BUSBAR_RETURN_IF_ERROR(first ? metadata(message, at) : node(message, at));
      at += size;
    }
    if (at == 0) return invalid("is empty", {name_, 0, 0, ""});
    if (out_.kinds.empty()) out_.notes.push_back("the trace holds no nodes");
    for (TracedCollective& c : out_.collectives) name_members(c);
    for (std::size_t i = before; nodes_ != nullptr && i < nodes_->size(); ++i) name_members((*nodes_)[i].call);
    return std::move(out_);
  }

 private:
  /// The ranks of a process group. PyTorch leaves out the ranks of the group of all: its calls have a size and no list.
  struct Members {
    std::vector<std::uint32_t> ranks;
    std::uint32_t size = 0;
  };
  static constexpr std::uint64_t kMostRanks = 1 << 24;

  void name_members(TracedCollective& c) const {
    const auto known = groups_.find(c.group);
    if (known == groups_.end() || !c.members.empty()) return;
    c.members = known->second.ranks;
    c.ranks = known->second.size;
  }

  /// The input of the node "## process_group:init ##", in which PyTorch's observer lists all groups:
  /// [{"pg_name": "1", "pg_desc": "...", "ranks": [0, 1], "group_size": 2, ...}, ...]. Other text is passed over.
  void groups_in(std::string_view text) {
    const std::size_t from = text.find("[{"), to = text.rfind("}]");
    if (from == text.npos || to == text.npos || to < from) return;
    const Result<Json> list = parse_json(std::string(text.substr(from, to + 2 - from)), name_);
    if (!list.ok()) return;
    for (const Json& g : list->values()) {
      const Json &name = g["pg_name"], &size = g["group_size"];
      if (!name.is_string() || !size.is_natural() || size.natural() > kMostRanks) continue;
      Members m{{}, static_cast<std::uint32_t>(size.natural())};
      for (const Json& r : g["ranks"].values())
        if (r.is_natural() && r.natural() < kMostRanks) m.ranks.push_back(static_cast<std::uint32_t>(r.natural()));
      if (m.ranks.empty() || m.ranks.size() == m.size) groups_[name.text().substr(0, 200)] = std::move(m);
    }
  }

  Error broken(std::uint64_t at, const std::string& what) const {
    return invalid(fmt::format("byte {}: {}", at, what), {name_, 0, 0, ""});
  }

  /// Reads piece by piece, because a broken length may be huge.
  static bool read_bytes(std::istream& in, std::uint64_t size, std::string& out) {
    constexpr std::uint64_t kPiece = 1 << 20;
    out.clear();
    while (out.size() < size) {
      const std::size_t have = out.size(), more = std::min(kPiece, size - have);
      out.resize(have + more);
      in.read(out.data() + have, static_cast<std::streamsize>(more));
      if (static_cast<std::uint64_t>(in.gcount()) != more) return false;
    }
    return true;
  }

  /// Number of bytes read; 0 at the end of the file, -1 for a broken number.
  static int read_varint(std::istream& in, std::uint64_t& out) {
    out = 0;
    for (int i = 0; i < 10; ++i) {
      const int c = in.get();
      if (c == std::istream::traits_type::eof()) return i == 0 ? 0 : -1;
      out |= std::uint64_t{static_cast<unsigned>(c) & 0x7fu} << (7 * i);
      if (c < 0x80) return i + 1;
    }
    return -1;
  }

  Result<Attribute> attribute(std::string_view data, std::uint64_t at) const {
    Attribute a;
    WireFields f(data, at);
    while (f.next()) {
      const bool text = f.type == 2;
      if (f.number == 1 && text)
        a.name = f.bytes;
      else if ((f.number == 29 || f.number == 31) && text)
        a.text = f.bytes;
      else if (f.number == 28 && text)
        a.has_false = holds_zero(f.bytes, f.at);
      else if (f.number == 3)
        a.real = as_double(f.value);
      else if (!text)
        a.number = f.number == 15 || f.number == 17 ? (f.value >> 1) : f.value;
    }
    if (f.failed()) return broken(f.offset(), "is not a field of an attribute");
    return a;
  }

  Status metadata(std::string_view data, std::uint64_t at) {
    WireFields f(data, at);
    while (f.next()) {
      if (f.number == 1 && f.type == 2) out_.version = f.bytes.substr(0, 80);
      if (f.number != 2 || f.type != 2) continue;
      BUSBAR_ASSIGN(const Attribute a, attribute(f.bytes, f.at));
      if (a.name == "schema") out_.version = a.text.substr(0, 80);
    }
    return f.failed() ? Status(broken(f.offset(), "is not a field of the metadata")) : Status();
  }

  /// A repeated number, each one a field or all of them packed.
  Status dependencies(const WireFields& f, std::vector<std::uint64_t>& out) const {
    if (f.type == 0) out.push_back(f.value);
    if (f.type != 2) return {};
    std::uint64_t id = 0;
    int shift = 0;
    for (const char c : f.bytes) {
      if (shift > 63) return broken(f.at, "is not a list of dependencies");
      id |= std::uint64_t{static_cast<unsigned char>(c) & 0x7fu} << shift;
      shift += 7;
      if ((static_cast<unsigned char>(c) & 0x80u) != 0) continue;
      out.push_back(id);
      id = 0;
      shift = 0;
    }
    return shift == 0 ? Status() : Status(broken(f.at, "is not a list of dependencies"));
  }

  Status node(std::string_view data, std::uint64_t at) {
    ChakraNode n;
    TracedCollective& c = n.call;
    WireFields f(data, at);
    std::string_view inputs;
    while (f.next()) {
      if (f.number == 2 && f.type == 2) c.name = f.bytes.substr(0, 200);
      if (f.number == 1 && f.type == 0) n.id = f.value;
      if (f.number == 3 && f.type == 0) n.type = f.value;
      if (f.number == 4 || f.number == 5) BUSBAR_RETURN_IF_ERROR(dependencies(f, n.after));
      if (f.number == 6 && f.type == 0) c.start_us = static_cast<double>(f.value);
      if (f.number == 7 && f.type == 0) c.duration_us = static_cast<double>(f.value);
      if (f.number == 8 && f.type == 2) inputs = f.bytes;
      if (f.number > 10) add_unknown(out_.unknown, 0, fmt::format("field {} of a node", f.number));
      if (f.number != 10 || f.type != 2) continue;
      BUSBAR_ASSIGN(const Attribute a, attribute(f.bytes, f.at));
      if (a.name == "comm_type") n.comm_type = a.number;
      if (a.name == "comm_size") c.bytes = a.number;
      if (a.name == "comm_src") n.src = a.number;
      if (a.name == "comm_dst") n.dst = a.number;
      if (a.name == "comm_tag") n.tag = a.number;
      if (a.name == "pg_name" || a.name == "comm_group")
        c.group = a.text.empty() && a.name == "comm_group" ? std::to_string(a.number) : a.text.substr(0, 200);
      if (a.name == "is_cpu_op") n.on_cpu = a.number != 0;
      if (a.name == "involved_dim") n.leaves_dimensions_out = a.has_false;
      if (a.name == "runtime" && c.duration_us == 0) c.duration_us = static_cast<double>(a.number);
    }
    if (f.failed()) return broken(f.offset(), "is not a field of a node");
    if (n.type == kMetadata && c.name.find("process_group:init") != c.name.npos) groups_in(inputs);
    add_node(std::move(n), out_, nodes_);
    return {};
  }

  static constexpr std::uint64_t kMetadata = 1;  ///< NodeType of et_def.proto

  const std::string& name_;
  std::vector<TraceNode>* nodes_;
  std::map<std::string, Members> groups_;  ///< by pg_name
  CommTrace out_;
};

}  // namespace

bool looks_like_chakra(std::string_view head) {
  std::size_t i = 0;
  std::uint64_t size = 0;
  for (; i < head.size() && i < 5; ++i) {
    size |= std::uint64_t{static_cast<unsigned char>(head[i]) & 0x7fu} << (7 * i);
    if (static_cast<unsigned char>(head[i]) < 0x80) break;
  }
  if (i + 2 >= head.size() || size < 3 || size > kMostMessageBytes) return false;
  const std::string_view message = head.substr(i + 1, size);
  const auto length = static_cast<unsigned char>(message[1]);
  if (message[0] == '\x0a')  // a version: digits and dots
    return length > 0 && message.size() >= 2u + length &&
           message.substr(2, length).find_first_not_of("0123456789.-abcdehkrv") == message.npos && message[2] <= '9';
  return message[0] == '\x12' && message.size() > 4 && message[2] == '\x0a';  // an attribute with a name
}

Result<CommTrace> read_chakra(std::istream& in, const std::string& name) { return ChakraReader(name).read(in); }

Result<std::vector<TraceNode>> read_chakra_nodes(std::istream& in, const std::string& name, bool json) {
  std::vector<TraceNode> nodes;
  const Result<CommTrace> trace = json ? read_chakra_json_nodes(in, name, nodes) : ChakraReader(name, &nodes).read(in);
  if (!trace.ok()) return trace.error();
  return nodes;
}

}  // namespace busbar::formats
