#include "busbar/questions/machine_request.h"

namespace busbar::spec {

const Record& record_of(const Overrides*) {
  static const Record record(
      "machine",
      {Field("set", &Overrides::set, "", "change one key of the cluster file, e.g. fabric.oversubscription=2")
           .takes("PATH=VALUE")
           .of("Machine"),
       Field("degrade", &Overrides::degrade, "",
             "reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; NCCL sees it only with =0.5:seen; globs "
             "allowed")
           .takes("SELECTOR=FACTOR[:seen]")
           .of("Machine"),
       Field("fail", &Overrides::fail, "", "remove links, e.g. leaf3-spine1; globs allowed")
           .takes("SELECTOR")
           .of("Machine"),
       Field("nodes", &Overrides::nodes, "",
             "the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it")
           .takes("N")
           .of("Machine"),
       Field("gpu", &Overrides::gpu, "",
             "product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)")
           .takes("PART")
           .of("Machine"),
       Field("gpu_memory_rate", &Overrides::gpu_memory_rate, "",
             "memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels")
           .takes("RATE")
           .of("Machine"),
       questions::catalog_field(&Overrides::catalog)});
  return record;
}

}  // namespace busbar::spec
