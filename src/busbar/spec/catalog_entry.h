// A file of the catalogue as a list of figures, each with its unit, source and confidence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/yaml.h"
#include "busbar/spec/reading.h"

namespace busbar::spec {

struct Figure {
  std::string path;        ///< "peak.bf16", "links[0].rate"
  std::string text;        ///< as in the file: "3.35TB/s"
  double value = 0;        ///< the number in `text`
  std::string unit;        ///< "TB/s"; for numbers without unit what they count: "lanes", "share", "m", "count"
  std::string source;      ///< of this figure, or of the nearest map around it with a source; "" if there is none
  std::string confidence;  ///< "low", "medium", "high"; "" if the source states no doubt
  Where where;
};

/// All figures below `root`, in file order. Names, places and wiring (between, pairs, numa) are not figures.
std::vector<Figure> figures_of(const YamlNode& root);

/// What `--set node.NAME=VALUE` can change of a board.
struct Parameter {
  std::string name, value;  ///< the value of the entry
  std::string help;         ///< what it does; "" if catalog/parameters has no line about it
};

struct CatalogEntry {
  std::string folder, name;
  std::string title;  ///< as given by catalog_title
  std::vector<Figure> figures;
  std::vector<Parameter> parameters;  ///< of a node
  std::vector<std::string> aliases;   ///< its other names
  std::vector<std::string> made_of;  ///< "links/nvlink4": the entries of the catalogue that this entry names, once each
};

/// One line about an entry: the comment at the beginning of its file, or its `name:`.
Result<std::string> catalog_title(std::string_view folder, std::string_view name, const Catalog& catalog);

/// The entry; for a node, with bases and parameters resolved.
Result<CatalogEntry> catalog_entry(std::string_view folder, std::string_view name, const Catalog& catalog);

}  // namespace busbar::spec
