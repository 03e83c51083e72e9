#include "busbar/formats/comm_groups.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/formats/json_text.h"

namespace busbar::formats {
namespace {

constexpr std::size_t kMostNamed = 20;  ///< names of groups in one message

Result<std::vector<std::uint32_t>> members_of(const Json& list, const Where& where) {
  if (!list.is_array() || list.empty()) return invalid("needs a list of ranks, such as [0, 1]", where);
  std::vector<std::uint32_t> out;
  for (const Json& v : list.values()) {
    if (!v.is_natural() || v.natural() >= UINT32_MAX)
      return invalid(fmt::format("'{}' is not a rank", v.dump().substr(0, 80)), where);
    out.push_back(static_cast<std::uint32_t>(v.natural()));
  }
  std::vector<std::uint32_t> sorted = out;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return invalid(fmt::format("has rank {} twice", *twice), where);
  return out;
}

}  // namespace

bool looks_like_comm_groups(std::string_view head) {
  const auto take = [&](char c) {
    const std::size_t at = head.find_first_not_of(" \t\r\n");
    if (at == head.npos || head[at] != c) return false;
    head.remove_prefix(at + 1);
    return true;
  };
  if (!take('{') || !take('"')) return false;
  const std::size_t end = head.find('"');
  if (end == head.npos) return false;
  head.remove_prefix(end + 1);
  if (!take(':') || !take('[')) return false;
  const std::size_t at = head.find_first_not_of(" \t\r\n");
  return at != head.npos && head[at] >= '0' && head[at] <= '9';
}

Result<std::vector<CommGroup>> read_comm_groups(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(const Json root, parse_json(text, name));
  if (!root.is_object() || root.empty())
    return invalid("is not a map from groups to ranks, such as {\"1\": [0, 1]}", {name, 0, 0, ""});
  std::vector<CommGroup> out;
  for (const auto& [key, list] : root.members()) {
    CommGroup group{key.substr(0, 200), {}};
    BUSBAR_ASSIGN(group.members, members_of(list, {name, 0, 0, group.name}));
    out.push_back(std::move(group));
  }
  return out;
}

Status assign_groups(std::span<const CommGroup> groups, const std::string& name, CommTrace& trace) {
  for (TracedCollective& c : trace.collectives) {
    if (c.group.empty()) continue;
    const auto found =
        std::find_if(groups.begin(), groups.end(), [&](const CommGroup& g) { return g.name == c.group; });
    if (found == groups.end()) {
      std::string names;
      for (std::size_t i = 0; i < std::min(groups.size(), kMostNamed); ++i)
        names += (i > 0 ? ", " : "") + groups[i].name;
      return invalid(fmt::format("lacks group '{}', which the trace names; it has {}{}", c.group, names,
                                 groups.size() > kMostNamed ? ", ..." : ""),
                     {name, 0, 0, ""});
    }
    c.members = found->members;
    c.ranks = static_cast<std::uint32_t>(c.members.size());
  }
  return {};
}

}  // namespace busbar::formats
