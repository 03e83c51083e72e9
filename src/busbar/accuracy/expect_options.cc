#include "busbar/accuracy/expect_options.h"

#include "busbar/accuracy/library_version.h"
#include "busbar/accuracy/results_meaning.h"
#include "busbar/step/machine.h"

namespace busbar::accuracy {

Result<ExpectOptions> expect_options(const spec::Overrides& overrides, const std::string& engine,
                                     const std::string& cluster, const std::string& op, predict::PredictOptions predict,
                                     const MeasuredResults& results, std::uint32_t gpus, StopFlag stop) {
  if (cluster.empty())
    return invalid("no machine given, and the results do not say which; add --cluster dgx-h100:2, or a file",
                   {"", 0, 0, "cluster"});
  ExpectOptions out;
  out.cluster = cluster;
  out.load = step::load_machine;
  out.overrides = overrides;
  out.engine = engine;
  out.gpus = gpus;
  if (!op.empty()) {
    BUSBAR_ASSIGN(out.op, collectives::parse_collective(op));
  } else if (!results.rows.empty()) {
    BUSBAR_ASSIGN(out.op, collective_of(results, gpus));
  }
  if (results.library.empty() && predict.nccl.empty()) out.releases = {{2, 19}, {2, 23}, {2, 27}};
  if (!results.library.empty()) out.policy.nccl = library_version("NCCL " + results.library).rules;
  if (predict.launch.empty()) predict.launch = results.launch;
  out.policy.stop = stop;
  BUSBAR_RETURN_IF_ERROR(predict::read_predict_options(predict, spec::Catalog(overrides.catalog), out.policy));
  return out;
}

}  // namespace busbar::accuracy
