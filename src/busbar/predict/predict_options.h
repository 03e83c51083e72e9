// The user's settings for the library and for how collectives start.
#pragma once

#include <string>
#include <vector>

#include "busbar/predict/policy.h"
#include "busbar/spec/catalog.h"

namespace busbar::predict {

/// As typed. Empty: not given.
struct PredictOptions {
  std::vector<std::string> env;  ///< --env: "NCCL_PROTO=LL"
  std::string nccl;              ///< --nccl: "2.27"
  std::string launch;            ///< --launch: one of launch_modes()
  std::string registration;      ///< --register: one of nccl::registration_names()
  std::string shortcuts_off;     ///< --shortcuts-off: "bundles,call-images", or "all"
};

/// Applies the options to `policy`. Errors name the flag.
Status read_predict_options(const PredictOptions& o, const spec::Catalog& catalog, PredictPolicy& policy);

}  // namespace busbar::predict
