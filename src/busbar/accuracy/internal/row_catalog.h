// Files of the catalogue that rows of a measured table refer to, each read once.
#pragma once

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

 private:
  Catalog catalog_;
  std::optional<std::vector<ModelSpec>> models_;
};

}  // namespace busbar
