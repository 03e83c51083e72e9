// What every reader of our own files needs: the catalogue, and a record of all that was read.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/yaml.h"
#include "busbar/spec/catalog.h"

namespace busbar {

struct Reading {
  explicit Reading(const Catalog& from) : catalog(from) {}
  const Catalog& catalog;
  std::string gpu;                   ///< product of GPUs for which a node names none; empty: they have none
  std::string text;                  ///< of every file, in order of reading, for inputs_hash
  std::vector<std::string> sources;  ///< one line per figure that matters

  /// The root of a catalogue file; its text is noted.
  Result<YamlNode> open(std::string_view folder, std::string_view name);
  /// `node` itself when it is a map; when it is a name, the catalogue file of that name. Errors stand at `node`.
  Result<YamlNode> resolve(const YamlNode& node, std::string_view folder);
  /// Notes "<what>: <source> (confidence ...)" from the provenance keys of `map`, once.
  void note(std::string what, const YamlNode& map);
};

/// `source`, `confidence`, `note` and their kin may stand in any map.
void accept_provenance(MapReader& reader);

/// The place of a scalar in `names`; an error with the nearest of them otherwise. `what`: "kind of link".
Result<std::size_t> as_one_of(const YamlNode& node, const std::vector<std::string>& names, std::string_view what);

/// An enum value from its name, by `name_of` over 0..last.
template <typename E>
Result<E> as_enum(const YamlNode& node, E last, const char* (*name_of_value)(E), std::string_view what) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.emplace_back(name_of_value(static_cast<E>(i)));
  BUSBAR_ASSIGN(const std::size_t i, as_one_of(node, names, what));
  return static_cast<E>(i);
}

}  // namespace busbar
