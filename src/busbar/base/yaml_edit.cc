// `--set PATH=VALUE`: a new tree that shares unchanged parts with the old one.
#include <fmt/core.h>

#include "busbar/base/internal/yaml_impl.h"
#include "busbar/base/text.h"
#include "busbar/base/yaml.h"

namespace busbar {
namespace {

using Impl = YamlNode::Impl;
using Kind = YamlNode::Kind;
using Tree = std::shared_ptr<const Impl>;

/// One step of a path: a key, or a list item by index or by `name`.
struct Step {
  std::string key;
  bool is_item = false;
};

/// The index of the item of `list` with the number or name `wanted`.
Result<std::size_t> find_item(const Impl& list, const std::string& wanted, const Where& where) {
  std::size_t place = 0;
  if (is_number(wanted, place)) {
    if (place < list.items.size()) return place;
    return invalid(
        fmt::format("item {} does not exist; the list has {} items, counted from 0", place, list.items.size()), where);
  }
  std::string names;
  for (place = 0; place < list.items.size(); ++place) {
    const Impl& item = *list.items[place];
    const auto name = item.kind == Kind::kMap ? item.index_of("name") : std::nullopt;
    if (!name) continue;
    if (item.items[*name]->scalar == wanted) return place;
    append_word(names, item.items[*name]->scalar);
  }
  return invalid(fmt::format("'[{}]' is neither the number of a list item nor a name{}", wanted,
                             names.empty() ? "" : "; there are " + names),
                 where);
}

/// "links[3].rate" -> links, 3, rate.
Result<std::vector<Step>> split_path(std::string_view path, const Where& where) {
  std::vector<Step> steps;
  std::size_t i = 0;
  while (i < path.size()) {
    if (path[i] == '[') {
      const std::size_t close = path.find(']', i);
      if (close == std::string_view::npos) return invalid(fmt::format("'{}': a ']' is missing", path), where);
      steps.push_back({std::string(path.substr(i + 1, close - i - 1)), true});
      i = close + 1;
      if (i < path.size() && path[i] == '.') ++i;
      continue;
    }
    const std::size_t end = std::min(path.find_first_of(".[", i), path.size());
    if (end == i) return invalid(fmt::format("'{}' has an empty key", path), where);
    steps.push_back({std::string(path.substr(i, end - i)), false});
    i = end;
    if (i < path.size() && path[i] == '.' && ++i == path.size()) {
      return invalid(fmt::format("'{}' has an empty key", path), where);
    }
  }
  constexpr std::size_t kMaxSteps = 64;  // the maximum depth of a file
  if (steps.empty()) return invalid("a path is missing; write PATH=VALUE", where);
  if (steps.size() > kMaxSteps) return invalid("the path has more than 64 steps", where);
  return steps;
}

std::shared_ptr<Impl> fresh_map(const Where& where) {
  auto map = std::make_shared<Impl>();
  map->kind = Kind::kMap;
  map->path = where.path;
  return map;
}

/// `old` (null: absent) with the value at steps[at...] replaced.
Result<Tree> replaced(const Tree& old, const std::vector<Step>& steps, std::size_t at, const Tree& value,
                      const Where& where) {
  if (at == steps.size()) return value;
  const Step& step = steps[at];
  const bool absent = !old || old->kind == Kind::kNull;
  if (step.is_item) {
    if (absent || old->kind != Kind::kSequence) {
      return invalid(fmt::format("'[{}]' selects a list item, but this is not a list", step.key), where);
    }
    BUSBAR_ASSIGN(const std::size_t place, find_item(*old, step.key, where));
    BUSBAR_ASSIGN(Tree child, replaced(old->items[place], steps, at + 1, value, where));
    auto copy = std::make_shared<Impl>(*old);
    copy->items[place] = std::move(child);
    return Tree(std::move(copy));
  }
  if (!absent && old->kind != Kind::kMap) {
    const std::string what = old->kind == Kind::kScalar ? fmt::format("'{}'", old->scalar) : std::string("a list");
    return invalid(fmt::format("'{}' cannot be set: its parent is {}, not a map", step.key, what), where);
  }
  auto copy = absent ? fresh_map(where) : std::make_shared<Impl>(*old);
  const auto i = copy->index_of(step.key);
  BUSBAR_ASSIGN(Tree child, replaced(i ? copy->items[*i] : Tree(), steps, at + 1, value, where));
  if (i) {
    copy->items[*i] = std::move(child);
  } else {
    copy->add_key({step.key, 0, 0});
    copy->items.push_back(std::move(child));
  }
  return Tree(std::move(copy));
}

}  // namespace

Status YamlDocument::set(std::string_view path, std::string_view value) {
  const Where where{"", 0, 0, fmt::format("--set {}", path)};
  BUSBAR_ASSIGN(const Tree tree, parse_tree(std::string(value), "", where.path));
  BUSBAR_ASSIGN(const std::vector<Step> steps, split_path(path, where));
  BUSBAR_ASSIGN(root_, replaced(root_, steps, 0, tree, where));
  return {};
}

Status YamlDocument::replace(std::string_view path, const YamlNode& value) {
  const Where where{"", 0, 0, std::string(path)};
  BUSBAR_ASSIGN(const std::vector<Step> steps, split_path(path, where));
  BUSBAR_ASSIGN(root_, replaced(root_, steps, 0, value.impl_, where));
  return {};
}

}  // namespace busbar
