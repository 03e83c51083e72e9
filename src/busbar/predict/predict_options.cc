#include "busbar/predict/predict_options.h"

#include "busbar/nccl/environment.h"
#include "busbar/predict/launch.h"

namespace busbar {

Status read_predict_options(const PredictOptions& o, const Catalog& catalog, PredictPolicy& policy) {
  const auto of_flag = [](Error error, const char* flag) {
    error.where = {"", 0, 0, flag};
    return error;
  };
  NcclSettings ignored;
  for (const std::string& variable : o.env)
    if (const Status read = parse_nccl_setting(variable, ignored); !read.ok()) return of_flag(read.error(), "--env");
  policy.env = o.env;
  if (!o.nccl.empty()) {
    const Result<NcclVersion> version = parse_nccl_version(o.nccl);
    if (!version.ok()) return of_flag(version.error(), "--nccl");
    policy.nccl = *version;
  }
  if (o.launch.empty()) return {};
  const Result<Duration> launch = launch_time(o.launch, catalog);
  if (!launch.ok()) return of_flag(launch.error(), "--launch");
  policy.launch = *launch;
  return {};
}

}  // namespace busbar
