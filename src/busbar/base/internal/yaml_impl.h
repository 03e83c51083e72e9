// Private to base: the data behind a YamlNode.
//
// 1. A tree is immutable after its document is returned; edits copy the nodes on the path to the change.
// 2. A node is at most 64 levels deep, so recursion over it is safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "busbar/base/yaml.h"

namespace busbar {

struct YamlNode::Impl {
  struct Key {
    std::string name;
    int line = 0, column = 0;
  };
  Kind kind = Kind::kNull;
  std::string scalar;
  std::vector<Key> keys;  ///< of a map, parallel to `items`
  std::vector<std::shared_ptr<const Impl>> items;
  std::shared_ptr<const std::string> file;
  int line = 0, column = 0;
  std::string path;  ///< "links[3].rate"

  std::optional<std::size_t> index_of(std::string_view key) const {
    if (!lookup.empty()) {
      const auto it = lookup.find(std::string(key));
      return it == lookup.end() ? std::nullopt : std::optional(it->second);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].name == key) return i;
    }
    return std::nullopt;
  }
  void add_key(Key key) {
    constexpr std::size_t kSmall = 32;  // below this, a scan is faster than a table
    keys.push_back(std::move(key));
    if (keys.size() < kSmall) return;
    for (std::size_t i = lookup.size(); i < keys.size(); ++i) lookup.emplace(keys[i].name, i);
  }

 private:
  std::unordered_map<std::string, std::size_t> lookup;  ///< for maps with many keys; never iterated
};

/// "a.b" from "a" and "b"; "b" when the map is the root.
std::string join(std::string_view map_path, std::string_view key);

/// Parses one document. `path` is the key path of its root; `file` the name in messages.
Result<std::shared_ptr<const YamlNode::Impl>> parse_tree(const std::string& text, const std::string& file,
                                                         const std::string& path);

}  // namespace busbar
