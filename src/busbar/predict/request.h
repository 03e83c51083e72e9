// Everything that a time depends on: the content of a command line of `busbar collective`.
#pragma once

#include <string>

#include "busbar/predict/predict_options.h"
#include "busbar/program/program.h"
#include "busbar/spec/cluster.h"

namespace busbar::predict {

struct CollectiveRequest {
  std::string cluster;  ///< for load_cluster()
  spec::Overrides overrides;
  std::string engine;
  program::CollectiveCall call;  ///< as given; ranks are GPUs of the cluster
  PredictOptions predict;
};

}  // namespace busbar::predict
