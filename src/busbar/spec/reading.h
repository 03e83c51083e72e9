// Shared by all readers of our own files: the catalogue, and a record of everything read.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/yaml.h"
#include "busbar/spec/catalog.h"
#include "busbar/topology/link.h"
#include "busbar/topology/routing_policy.h"

namespace busbar::spec {

struct Reading {
  explicit Reading(const Catalog& from) : catalog(from) {}
  const Catalog& catalog;
  std::string gpu;                   ///< product of the GPUs that a node does not name; empty: none given
  std::string text;                  ///< of every file, in order of reading, for inputs_hash
  std::vector<std::string> sources;  ///< one line per important figure

  /// The root of a catalogue file; records its text.
  Result<YamlNode> open(std::string_view folder, std::string_view name);
  /// `node` itself if it is a map; if it is a name, the catalogue file of that name. Errors refer to `node`.
  Result<YamlNode> resolve(const YamlNode& node, std::string_view folder);
  /// Records "<what>: <source> (confidence ...)" from the provenance keys of `map`, once.
  void note(std::string what, const YamlNode& map);
};

/// A reader of `map` that accepts `source`, `confidence`, `note` and similar keys, which any map may have.
MapReader sourced(const YamlNode& map);

/// Appends what `read` makes of each item of `list`.
template <typename T, typename F>
Status read_items(const YamlNode& list, F read, std::vector<T>& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    BUSBAR_ASSIGN(T item, read(list.item(i)));
    out.push_back(std::move(item));
  }
  return {};
}

/// The index of a scalar in `names`, or an error with the nearest name. `what`: "kind of link".
Result<std::size_t> as_one_of(const YamlNode& node, const std::vector<std::string>& names, std::string_view what);

/// An enum value from its name, by `name_of` over 0..last.
template <typename E>
Result<E> as_enum(const YamlNode& node, E last, const char* (*name_of_value)(E), std::string_view what) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.emplace_back(name_of_value(static_cast<E>(i)));
  BUSBAR_ASSIGN(const std::size_t i, as_one_of(node, names, what));
  return static_cast<E>(i);
}

Result<topology::LinkKind> as_link_kind(const YamlNode& node);
Result<topology::RoutingPolicy> as_routing_policy(const YamlNode& node);

inline constexpr double kLeastEfficiency = 1e-6;  ///< of a link; less is a typing error

}  // namespace busbar::spec
