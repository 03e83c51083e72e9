// `--set PATH=VALUE`: a new tree that shares all it can with the old one.
#include <fmt/core.h>

#include <charconv>

#include "busbar/base/quantity.h"
#include "busbar/base/yaml.h"
#include "busbar/base/yaml_impl.h"

namespace busbar {
namespace {

using Impl = YamlNode::Impl;
using Kind = YamlNode::Kind;
using Tree = std::shared_ptr<const Impl>;

/// One step of a path: a key, or the index of a list item.
struct Step {
  std::string key;
  std::size_t index = 0;
  bool is_index = false;
};

Result<Step> index_step(std::string_view inside, const Where& where) {
  Step step;
  step.is_index = true;
  const auto [end, code] = std::from_chars(inside.data(), inside.data() + inside.size(), step.index);
  if (code != std::errc() || end != inside.data() + inside.size()) {
    return invalid(fmt::format("'[{}]' is not the number of a list item", inside), where);
  }
  return step;
}

/// "links[3].rate" -> links, 3, rate.
Result<std::vector<Step>> split_path(std::string_view path, const Where& where) {
  std::vector<Step> steps;
  std::size_t i = 0;
  while (i < path.size()) {
    if (path[i] == '[') {
      const std::size_t close = path.find(']', i);
      if (close == std::string_view::npos) return invalid(fmt::format("'{}': a ']' is missing", path), where);
      BUSBAR_ASSIGN(Step step, index_step(path.substr(i + 1, close - i - 1), where));
      steps.push_back(std::move(step));
      i = close + 1;
      if (i < path.size() && path[i] == '.') ++i;
      continue;
    }
    const std::size_t end = std::min(path.find_first_of(".[", i), path.size());
    if (end == i) return invalid(fmt::format("'{}' has an empty key", path), where);
    steps.push_back({std::string(path.substr(i, end - i)), 0, false});
    i = end;
    if (i < path.size() && path[i] == '.' && ++i == path.size()) {
      return invalid(fmt::format("'{}' has an empty key", path), where);
    }
  }
  constexpr std::size_t kMaxSteps = 64;  // as deep as a file may be
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

/// `old` (may be null: absent) with the value at steps[at...] replaced.
Result<Tree> replaced(const Tree& old, const std::vector<Step>& steps, std::size_t at, const Tree& value,
                      const Where& where) {
  if (at == steps.size()) return value;
  const Step& step = steps[at];
  const bool absent = !old || old->kind == Kind::kNull;
  if (step.is_index) {
    if (absent || old->kind != Kind::kSequence) {
      return invalid(fmt::format("'[{}]' asks for a list item, but there is no list here", step.index), where);
    }
    if (step.index >= old->items.size()) {
      return invalid(
          fmt::format("item {} does not exist; the list has {} items, counted from 0", step.index, old->items.size()),
          where);
    }
    BUSBAR_ASSIGN(Tree child, replaced(old->items[step.index], steps, at + 1, value, where));
    auto copy = std::make_shared<Impl>(*old);
    copy->items[step.index] = std::move(child);
    return Tree(std::move(copy));
  }
  if (!absent && old->kind != Kind::kMap) {
    const std::string what = old->kind == Kind::kScalar ? fmt::format("'{}'", old->scalar) : std::string("a list");
    return invalid(fmt::format("'{}' cannot be set: above it stands {}, not a map", step.key, what), where);
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
