#include "busbar/questions/predict_request.h"

#include "busbar/predict/launch.h"

namespace busbar::predict {

const Record& record_of(const PredictOptions*) {
  using P = PredictOptions;
  static const Record record(
      "predict",
      {Field("env", &P::env, "", "set a variable of NCCL; may be given several times").takes("NCCL_X=Y").of("NCCL"),
       Field("nccl", &P::nccl, "", "NCCL release whose rules apply, 2.18 to 2.30 (default: as in the input, or 2.30)")
           .takes("VERSION")
           .of("NCCL"),
       Field("launch", &P::launch, "",
             "how collectives start: graph (CUDA graph), loop (one process, all its GPUs), process (one per GPU), "
             "unknown")
           .takes("MODE")
           .of("NCCL")
           .among(launch_modes()),
       Field("registration", &P::registration, "",
             "how the program registers its buffers: none (default), local, or symmetric (windows), for which NCCL has "
             "other kernels")
           .spelled("--register")
           .takes("KIND")
           .of("NCCL")
           .among(nccl::registration_names()),
       Field("shortcuts_off", &P::shortcuts_off, "",
             "compute without these shortcuts, e.g. call-images,bundles, or all; --explain names those taken")
           .takes("NAMES")
           .of("Output")
           .undecided()});
  return record;
}

}  // namespace busbar::predict

namespace busbar::questions {

std::vector<Field> with_default_launch(std::vector<Field> fields, const std::string& launch) {
  for (Field& f : fields)
    if (f.name == "launch") f.meaning += " (default: " + launch + ")";
  return fields;
}

}  // namespace busbar::questions
