// Chakra traces as JSON, the form that Chakra's feeder reads: {"workload_graph": [{"Id": 1, "NodeType": 7, ...}, ...]}.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "busbar/formats/internal/chakra_nodes.h"
#include "busbar/formats/json_text.h"

namespace busbar::formats {
namespace {

/// Keys of a node that do not describe collectives. A key in none of the lists counts as unknown.
constexpr std::array kPassedOver{"inputs",     "outputs",      "num_ops",      "tensor_size",
                                 "tensor_loc", "involved_dim", "comm_priority"};

/// Takes the nodes one by one and drops each, so that memory holds only one.
class ChakraJsonReader : public JsonBuilder {
 public:
  explicit ChakraJsonReader(const std::string& name, std::vector<TraceNode>* nodes = nullptr)
      : name_(name), nodes_(nodes) {}

  Result<CommTrace> read(std::istream& in) {
    BUSBAR_RETURN_IF_ERROR(read_json(in, name_, *this));
    BUSBAR_RETURN_IF_ERROR(problem_);
    const Json rest = take();
    if (!rest.contains("workload_graph"))
      return invalid("no 'workload_graph' in it: not a Chakra trace", {name_, 0, 0, ""});
    add_rest(rest);
    if (out_.kinds.empty()) out_.notes.push_back("the trace holds no nodes");
    return std::move(out_);
  }

 private:
  bool keep(Json& value, std::size_t depth, const std::string& top) override {
    if (depth != 2 || top != "workload_graph" || !value.is_object()) return true;
    if (problem_.ok()) problem_ = node(value);
    return false;
  }

  /// Takes the rest of the file.
  void add_rest(const Json& rest) {
    for (const auto& [key, value] : rest.members()) {
      if (key == "ngpus" && value.is_natural() && value.natural() <= UINT32_MAX)
        out_.world_size = static_cast<std::uint32_t>(value.natural());
      else if (key == "schema" && value.is_string())
        out_.version = value.text().substr(0, 80);
      else if (key != "workload_graph" && key != "workload_name" && key != "soc")
        add_unknown(out_.unknown, 0, fmt::format("key {}", key.substr(0, 80)));
    }
  }

  Error wrong(const std::string& key, const Json& value, const char* wanted) const {
    return invalid(fmt::format("'{}' is not a {}", value.dump().substr(0, 80), wanted),
                   {name_, 0, 0, fmt::format("workload_graph[{}].{}", out_.events, key)});
  }

  Status node(const Json& j) {
    ChakraNode n;
    for (const auto& [key, value] : j.members()) {
      if (key == "Name" || key == "pg_name" || key == "comm_group") {
        BUSBAR_RETURN_IF_ERROR(text(key, value, key == "Name" ? n.call.name : n.call.group));
      } else if (key == "NodeType") {
        BUSBAR_RETURN_IF_ERROR(count(key, value, n.type));
      } else if (key == "comm_type") {
        BUSBAR_RETURN_IF_ERROR(count(key, value, n.comm_type));
      } else if (std::uint64_t* const number = number_of(key, n)) {
        BUSBAR_RETURN_IF_ERROR(count(key, value, *number));
      } else if (key == "ctrlDeps" || key == "ctrl_deps" || key == "data_deps" || key == "dataDeps") {
        if (!value.is_array()) return wrong(key, value, "list");
        for (const Json& id : value.values()) {
          n.after.emplace_back();
          BUSBAR_RETURN_IF_ERROR(count(key, id, n.after.back()));
        }
      } else if (key == "runtime") {
        if (!value.is_number() || value.number() < 0) return wrong(key, value, "time in us");
        n.call.duration_us = value.number();
      } else if (key == "is_cpu_op") {
        if (!value.is_boolean() && !value.is_number()) return wrong(key, value, "boolean");
        n.on_cpu = value.is_boolean() ? value.truth() : value.number() != 0;
      } else if (std::find(kPassedOver.begin(), kPassedOver.end(), key) == kPassedOver.end()) {
        add_unknown(out_.unknown, 0, fmt::format("key {} of a node", key.substr(0, 80)));
      }
      if (key == "involved_dim")
        for (const Json& v : value.values()) n.leaves_dimensions_out |= v.is_boolean() && !v.truth();
    }
    if (!j.contains("NodeType"))
      return invalid("lacks 'NodeType'", {name_, 0, 0, fmt::format("workload_graph[{}]", out_.events)});
    add_node(std::move(n), out_, nodes_);
    return {};
  }

  static std::uint64_t* number_of(const std::string& key, ChakraNode& n) {
    return key == "Id"          ? &n.id
           : key == "comm_size" ? &n.call.bytes
           : key == "comm_src"  ? &n.src
           : key == "comm_dst"  ? &n.dst
           : key == "comm_tag"  ? &n.tag
                                : nullptr;
  }

  Status count(const std::string& key, const Json& value, std::uint64_t& out) const {
    if (!value.is_natural()) return wrong(key, value, "number of 0 or more");
    out = value.natural();
    return {};
  }

  Status text(const std::string& key, const Json& value, std::string& out) const {
    if (!value.is_string() && !value.is_natural()) return wrong(key, value, "name");
    out = (value.is_string() ? value.text() : value.dump()).substr(0, 200);
    return {};
  }

  const std::string& name_;
  std::vector<TraceNode>* nodes_;
  Status problem_;
  CommTrace out_;
};

}  // namespace

bool looks_like_chakra_json(std::string_view head) {
  const std::size_t at = head.find_first_not_of(" \t\r\n");
  return at != head.npos && head[at] == '{' && head.find("\"workload_graph\"") != head.npos;
}

Result<CommTrace> read_chakra_json(std::istream& in, const std::string& name) {
  return ChakraJsonReader(name).read(in);
}

Result<CommTrace> read_chakra_json_nodes(std::istream& in, const std::string& name, std::vector<TraceNode>& nodes) {
  return ChakraJsonReader(name, &nodes).read(in);
}

}  // namespace busbar::formats
