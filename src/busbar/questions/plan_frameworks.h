// What frameworks run, as limits of a search for a layout.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/plan/space_lists.h"
#include "busbar/spec/catalog.h"

namespace busbar::questions {

struct FrameworkSpace {
  std::string name;       ///< of its file
  std::string program;    ///< as framework_flags() calls it
  plan::PlanLists lists;  ///< empty ones are not limited
};

/// Of every framework whose file says what it runs.
Result<std::vector<FrameworkSpace>> framework_spaces(const workload::ModelSpec& model, const spec::Catalog& catalog);
/// Of one, NAME or NAME:RELEASE. Errors: it is not known, or its file does not say what it runs.
Result<FrameworkSpace> framework_space(const std::string& text, const workload::ModelSpec& model,
                                       const spec::Catalog& catalog);

/// `typed`, and where a list is empty that of the framework. Errors name a value that the framework does not run.
Result<plan::PlanSpace> space_in(const FrameworkSpace& framework, const plan::PlanLists& typed,
                                 const workload::LayoutSpec& base);
bool runs(const FrameworkSpace& framework, const workload::LayoutSpec& layout);

}  // namespace busbar::questions
