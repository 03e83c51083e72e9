#include "busbar/questions/checkpoint_request.h"

namespace busbar::survive {

const Record& record_of(const CheckpointAsk*) {
  using C = CheckpointAsk;
  static const Record record(
      "checkpoint",
      {Field("checkpoint_to", &C::checkpoint_to, "",
             "storage behind the servers' storage NICs (default), or the servers' nvme drives")
           .takes("PLACE")
           .of("Checkpoints")
           .among({"storage", "nvme"}),
       Field("storage", &C::storage, "", "rate of the whole storage, e.g. 200GB/s (default 0.65 GB/s per server)")
           .takes("RATE")
           .of("Checkpoints"),
       Field("async", &C::async, "", "steps continue while a copy in host memory is written").of("Checkpoints"),
       Field("async_stop", &C::async_stop, "",
             "with --async steps wait at least so long: planning, metadata, a barrier (default 500ms)")
           .takes("TIME")
           .of("Checkpoints"),
       Field("gpudirect_storage", &C::gpudirect_storage, "",
             "data go between GPUs and drives or storage NICs without a copy in host memory")
           .of("Checkpoints")});
  return record;
}

}  // namespace busbar::survive

namespace busbar::questions {

const Record& record_of(const CheckpointResult*) {
  using C = CheckpointResult;
  static const Record record(
      "checkpoint",
      {{"every_steps", &C::every_steps, "", "steps from one to the next"},
       {"bytes", &C::bytes, "bytes", "of all"},
       {"most_bytes_per_gpu", &C::most_bytes_per_gpu, "bytes", "of the GPU that writes most"},
       {"storage_GBps", &C::storage_GBps, "GB/s", "of the whole storage; null: drives of the servers"},
       {"save_s", &C::save_s, "s", "until it is written"},
       {"load_s", &C::load_s, "s", "until it is read back"},
       {"links_save_s", &C::links_save_s, "s", "over the servers' links alone"},
       {"bound_by", &C::bound_by, "", "what sets save_s"},
       {"copy_s", &C::copy_s, "s", "of the copy to host memory"},
       {"stop_s", &C::stop_s, "s", "for which steps wait"},
       {"slowed_steps_share", &C::slowed_steps_share, "", "by which steps take longer meanwhile, at most"},
       {"share_of_time", &C::share_of_time, "", "that checkpoints cost"}});
  return record;
}

CheckpointResult checkpoint_result(const survive::CheckpointRun& c, std::uint64_t steps, double step_s) {
  const double between_s = static_cast<double>(steps) * step_s;
  CheckpointResult r{steps,          c.bytes,    c.most_bytes,   {},
                     c.write_s(),    c.load_s(), c.links.save_s, c.write_bound(),
                     c.links.copy_s, c.stop_s(), c.slowed,       c.lost_s(between_s) / (c.stop_s() + between_s)};
  if (c.store_bytes_per_s > 0) r.storage_GBps = c.store_bytes_per_s / 1e9;
  return r;
}

}  // namespace busbar::questions
