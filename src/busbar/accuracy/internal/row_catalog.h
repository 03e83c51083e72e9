// Files of the catalogue that rows of a measured table refer to, each read once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "busbar/spec/catalog.h"
#include "busbar/workload/model.h"

namespace busbar {

class RowCatalog {
 public:
  explicit RowCatalog(const std::string& folder) : catalog_(folder) {}
  const Catalog& catalog() const { return catalog_; }
  /// All models that can be read, by name.
  const std::vector<ModelSpec>& models();
  /// The file of a framework; null if there is none. It lives as long as this object.
  Result<const YamlDocument*> framework(const std::string& name);

 private:
  Catalog catalog_;
  std::optional<std::vector<ModelSpec>> models_;
  std::map<std::string, YamlDocument> frameworks_;
};

}  // namespace busbar
