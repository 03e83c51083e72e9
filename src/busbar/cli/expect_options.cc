#include "busbar/cli/expect_options.h"

#include "busbar/accuracy/library_version.h"
#include "busbar/accuracy/results_meaning.h"
#include "busbar/cli/long_run.h"
#include "busbar/step/machine.h"

namespace busbar {

Result<ExpectOptions> expect_options(const CommonOptions& common, const std::string& cluster, const std::string& op,
                                     PredictOptions predict, const MeasuredResults& results, std::uint32_t gpus) {
  if (cluster.empty())
    return flag_error("--cluster",
                      "no machine given, and the results do not say which; add --cluster dgx-h100:2, or a file");
  ExpectOptions out;
  out.cluster = cluster;
  out.load = load_machine;
  out.overrides = common.overrides;
  out.engine = common.engine;
  out.gpus = gpus;
  if (!op.empty()) {
    BUSBAR_ASSIGN(out.op, parse_collective(op));
  } else if (!results.rows.empty()) {
    BUSBAR_ASSIGN(out.op, collective_of(results, gpus));
  }
  if (results.library.empty() && predict.nccl.empty()) out.releases = {{2, 19}, {2, 23}, {2, 27}};
  if (!results.library.empty()) out.policy.nccl = library_version("NCCL " + results.library).rules;
  if (predict.launch.empty()) predict.launch = results.launch;
  out.policy.stop = LongRun::flag();
  BUSBAR_RETURN_IF_ERROR(read_predict_options(predict, Catalog(common.overrides.catalog), out.policy));
  return out;
}

}  // namespace busbar
