// Chakra traces as JSON, the form that feeders read: {"workload_graph": [{"Id": 1, "NodeType": 7, ...}, ...]}.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "busbar/formats/chakra_nodes.h"
#include "busbar/formats/json_text.h"

namespace busbar {
namespace {

using SortedJson = nlohmann::json;


/// Keys of a node that say nothing of collectives; what is in none of the lists is unknown.
constexpr std::array kPassedOver{"Id",       "ctrlDeps", "ctrl_deps",  "data_deps",    "dataDeps",
                                 "inputs",   "outputs",  "num_ops",    "tensor_size",  "comm_src",
                                 "comm_dst", "comm_tag", "tensor_loc", "involved_dim", "comm_priority"};

class ChakraJsonReader {
 public:
  explicit ChakraJsonReader(const std::string& name) : name_(name) {}

  Result<CommTrace> read(std::istream& in) {
    bool nodes = false, deep = false;
    const auto look = [&](int depth, SortedJson::parse_event_t event, SortedJson& parsed) {
      if (event == SortedJson::parse_event_t::key && depth == 1) {
        key_ = parsed.get<std::string>();
        nodes = nodes || key_ == "workload_graph";
      }
      deep = deep || depth > kMostJsonDepth;
      if (deep) return false;
      if (key_ != "workload_graph" || event != SortedJson::parse_event_t::object_end || depth != 2) return true;
      if (problem_.ok()) problem_ = node(parsed);
      return false;  // so that memory holds one node
    };
    try {
      const SortedJson rest = SortedJson::parse(in, look);
      if (deep) return invalid(fmt::format("nested deeper than {} levels", kMostJsonDepth), {name_, 0, 0, ""});
      if (rest.is_object()) top(rest);
    } catch (const SortedJson::parse_error& e) {
      const std::string what = e.what();
      const std::size_t cause = what.find("syntax error");
      return invalid(fmt::format("byte {}: not JSON: {}", e.byte, cause == what.npos ? what : what.substr(cause)),
                     {name_, 0, 0, ""});
    } catch (const SortedJson::exception& e) {  // a number that no double holds
      return invalid(fmt::format("not JSON that can be held: {}", e.what()), {name_, 0, 0, ""});
    }
    BUSBAR_RETURN_IF_ERROR(problem_);
    if (!nodes) return invalid("no 'workload_graph' in it: not a Chakra trace", {name_, 0, 0, ""});
    if (out_.kinds.empty()) out_.notes.push_back("the trace holds no nodes");
    return std::move(out_);
  }

 private:
  /// What stands beside the nodes.
  void top(const SortedJson& rest) {
    for (const auto& [key, value] : rest.items()) {
      if (key == "ngpus" && value.is_number_unsigned() && value.get<std::uint64_t>() <= UINT32_MAX)
        out_.world_size = value.get<std::uint32_t>();
      else if (key == "schema" && value.is_string())
        out_.version = value.get<std::string>().substr(0, 80);
      else if (key != "workload_graph" && key != "workload_name" && key != "soc")
        add_unknown(out_.unknown, 0, fmt::format("key {}", key.substr(0, 80)));
    }
  }

  Error wrong(const std::string& key, const SortedJson& value, const char* wanted) const {
    return invalid(fmt::format("'{}' is no {}", value.dump().substr(0, 80), wanted),
                   {name_, 0, 0, fmt::format("workload_graph[{}].{}", out_.events, key)});
  }

  Status node(const SortedJson& j) {
    ChakraNode n;
    for (const auto& [key, value] : j.items()) {
      if (key == "Name" || key == "pg_name" || key == "comm_group") {
        BUSBAR_RETURN_IF_ERROR(text(key, value, key == "Name" ? n.call.name : n.call.group));
      } else if (key == "NodeType") {
        BUSBAR_RETURN_IF_ERROR(count(key, value, n.type));
      } else if (key == "comm_type") {
        BUSBAR_RETURN_IF_ERROR(count(key, value, n.comm_type));
      } else if (key == "comm_size") {
        BUSBAR_RETURN_IF_ERROR(count(key, value, n.call.bytes));
      } else if (key == "runtime") {
        if (!value.is_number() || value.get<double>() < 0) return wrong(key, value, "time in us");
        n.call.duration_us = value.get<double>();
      } else if (key == "is_cpu_op") {
        if (!value.is_boolean() && !value.is_number()) return wrong(key, value, "true or false");
        n.on_cpu = value.is_boolean() ? value.get<bool>() : value.get<double>() != 0;
      } else if (std::find(kPassedOver.begin(), kPassedOver.end(), key) == kPassedOver.end()) {
        add_unknown(out_.unknown, 0, fmt::format("key {} of a node", key.substr(0, 80)));
      }
      if (key == "involved_dim" && value.is_array())
        for (const SortedJson& v : value) n.leaves_dimensions_out |= v == false;
    }
    if (!j.contains("NodeType"))
      return invalid("lacks 'NodeType'", {name_, 0, 0, fmt::format("workload_graph[{}]", out_.events)});
    add_node(std::move(n), out_);
    return {};
  }

  Status count(const std::string& key, const SortedJson& value, std::uint64_t& out) const {
    if (!value.is_number_unsigned()) return wrong(key, value, "number of 0 or more");
    out = value.get<std::uint64_t>();
    return {};
  }

  Status text(const std::string& key, const SortedJson& value, std::string& out) const {
    if (!value.is_string() && !value.is_number_unsigned()) return wrong(key, value, "name");
    out = (value.is_string() ? value.get<std::string>() : value.dump()).substr(0, 200);
    return {};
  }

  const std::string& name_;
  std::string key_;  ///< of the outermost map, last seen
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

}  // namespace busbar
