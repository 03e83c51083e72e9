// Keys of a config.json: the same number has several names, and may be null or in an inner map.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "busbar/base/yaml.h"

namespace busbar::spec {

using KeyNames = std::initializer_list<const char*>;

class HuggingFaceKeys {
 public:
  explicit HuggingFaceKeys(YamlNode map) : map_(std::move(map)) {}
  /// The first of these keys that has a value; keys of `ffn_config` and `attn_config` count too.
  std::optional<YamlNode> find(KeyNames names) const;
  bool has(KeyNames names) const { return find(names).has_value(); }
  /// A whole number from 1 to `most`. Keeps the first error; a missing number is one.
  std::uint32_t need(KeyNames names, std::int64_t most);
  std::uint32_t read(KeyNames names, std::uint32_t otherwise, std::int64_t most, std::int64_t low = 1);
  bool flag(KeyNames names, bool otherwise);
  std::string word(KeyNames names) const;  ///< empty: there is none
  /// After all keys that are known were asked for: says which others are ignored, and refuses those that could change
  /// the answer.
  void finish(std::vector<std::string>& notes);
  /// Keeps an error at the first of these keys, or at the map.
  void fail(KeyNames names, std::string message);
  const YamlNode& map() const { return map_; }
  const Status& status() const { return status_; }

 private:
  YamlNode map_;
  Status status_;
  mutable std::set<std::string, std::less<>> asked_;
};

}  // namespace busbar::spec
