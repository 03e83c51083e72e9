#include "busbar/accuracy/internal/row_catalog.h"

#include "busbar/spec/model_file.h"

namespace busbar::accuracy {

const std::vector<workload::ModelSpec>& RowCatalog::models() {
  if (models_) return *models_;
  models_.emplace();
  for (const std::string& name : catalog_.names("models")) {
    const auto document = catalog_.load("models", name);
    if (!document.ok()) continue;
    if (auto model = spec::read_model(document->root()); model.ok()) models_->push_back(std::move(*model));
  }
  return *models_;
}

}  // namespace busbar::accuracy
