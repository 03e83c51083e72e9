// Files of the catalogue that rows of a measured table refer to, each read once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/spec/catalog.h"
#include "busbar/workload/model.h"

namespace busbar::accuracy {

class RowCatalog {
 public:
  explicit RowCatalog(const std::string& folder) : catalog_(folder) {}
  const spec::Catalog& catalog() const { return catalog_; }
  /// All models that can be read, by name.
  const std::vector<workload::ModelSpec>& models();

 private:
  spec::Catalog catalog_;
  std::optional<std::vector<workload::ModelSpec>> models_;
};

}  // namespace busbar::accuracy
