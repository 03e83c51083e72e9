// Prices and powers of products, from the catalogue and from a file of the user's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "busbar/base/result.h"
#include "busbar/base/yaml.h"
#include "busbar/spec/catalog.h"

namespace busbar::spec {

struct PriceRange {
  double low = 0, high = 0;
  double middle() const { return (low + high) / 2; }
};

/// What one piece of a product costs and draws; absent figures are unknown, never zero.
struct PartCost {
  std::optional<PriceRange> usd;
  std::optional<double> power_w;
  std::string source, confidence;  ///< of the price
  bool sold_as_cable = false;      ///< one piece has both ends and what is between them
};

/// Reads `power` and `price_usd` of catalog/FOLDER/PART. The user's file has the same keys below FOLDER and PART and
/// precedes the catalogue, figure by figure:
///   switches: {qm9700: {price_usd: 42000}}
class PriceList {
 public:
  /// `file`: "" for the catalogue alone. Unknown folders, keys and units are errors with their place.
  static Result<PriceList> open(Catalog catalog, const std::string& file);
  /// `part`: a catalogue name or the name on the product, "Tomahawk 5" for tomahawk5: only letters and digits count.
  Result<PartCost> find(const std::string& folder, std::string_view part) const;
  const std::string& text() const { return text_; }  ///< of the user's file, for inputs_hash

 private:
  explicit PriceList(Catalog catalog) : catalog_(std::move(catalog)) {}
  Catalog catalog_;
  std::optional<YamlNode> own_;
  std::string text_;
};

}  // namespace busbar::spec
