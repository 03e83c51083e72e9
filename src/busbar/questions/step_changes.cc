#include "busbar/questions/step_changes.h"

namespace busbar::step {

const Record& record_of(const FreePart*) {
  using F = FreePart;
  static const Record record("free part", {{"part", &F::part, "", "of the step, as in breakdown_s"},
                                           {"step_time_s", &F::step_time_s, "s", "simulated with this part free"},
                                           {"saved_s", &F::saved_s, "s", "of a step; these need not add up"}});
  return record;
}

const Record& record_of(const Lever*) {
  using L = Lever;
  static const Record record("lever",
                             {{"what", &L::what, "", "a setting, or faster links"},
                              {"flag", &L::flag, "", "to add to the command; empty: a change of the machine"},
                              {"step_time_s", &L::step_time_s, "s", "with it"},
                              {"saved_s", &L::saved_s, "s", "of a step"},
                              {"saved_usd_per_day", &L::saved_usd_per_day, "USD", "for the same work; 0: no price"}});
  return record;
}

const Record& record_of(const CompressionRow*) {
  using C = CompressionRow;
  static const Record record(
      "compression",
      {{"gradients", &C::gradients, "", "how they are sent"},
       {"bytes", &C::bytes, "bytes", "per gradient"},
       {"sent_bytes", &C::sent_bytes, "bytes", "by a GPU in one step, for gradients and parameters"},
       {"kernels_s", &C::kernels_s, "s", "of compression, in one step"},
       {"exposed_dp_s", &C::exposed_dp_s, "s", "data parallelism that nothing hides"},
       {"step_time_s", &C::step_time_s, "s", "of a step"},
       {"gain_percent", &C::gain_percent, "%", "of the step without compression"},
       {"pays_below_GBps", &C::pays_below_GBps, "GB/s", "rate of a link up to which it pays; null: at none tried"},
       {"pays_below_factor", &C::pays_below_factor, "", "the same over today's rate"}});
  return record;
}

const Record& record_of(const CompressionTable*) {
  using C = CompressionTable;
  static const Record record("compressions", {{"varied", &C::varied, "", "links whose rate is varied"},
                                              {"rate_GBps", &C::rate_GBps, "GB/s", "today's, of one of these links"},
                                              {"rows", &C::rows, "", "the first without compression"}});
  return record;
}

}  // namespace busbar::step
