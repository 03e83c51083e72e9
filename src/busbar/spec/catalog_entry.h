// A file of the catalogue as a list of figures, each with its unit, source and confidence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/yaml.h"
#include "busbar/spec/reading.h"

namespace busbar {

struct Figure {
  std::string path;    ///< "peak.bf16", "links[0].rate"
  std::string text;    ///< as the file has it: "3.35TB/s"
  double value = 0;    ///< the number in it
  std::string unit;    ///< "TB/s"; for bare numbers what they count: "lanes", "share", "m", "count"
  std::string source;  ///< of this figure or, where it has none of its own, of what stands around it; "" if nobody says
  std::string confidence;  ///< "low", "medium", "high"; "" where the source is not doubted
  Where where;
};

/// All figures below `root`, in file order. Names, places and wiring (between, pairs, numa) are none.
std::vector<Figure> figures_of(const YamlNode& root);

struct CatalogEntry {
  std::string folder, name;
  std::string title;  ///< as catalog_title gives it
  std::vector<Figure> figures;
  std::vector<std::string> made_of;  ///< "links/nvlink4": entries of the catalogue that this one names, once each
};

/// What an entry is, in a line: the comment that opens its file, else its `name:`.
Result<std::string> catalog_title(std::string_view folder, std::string_view name, const Catalog& catalog);

/// The entry, with bases and parameters resolved where it is a node.
Result<CatalogEntry> catalog_entry(std::string_view folder, std::string_view name, const Catalog& catalog);

}  // namespace busbar
