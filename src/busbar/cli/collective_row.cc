#include "busbar/cli/collective_row.h"

#include <utility>

namespace busbar {

CollectiveRow row_of(Prediction p) {
  CollectiveRow row;
  row.size = p.call.bytes;
  row.time = p.time;
  row.algorithm_floor = p.algorithm_floor;
  row.floor = p.floor;
  row.algorithm = p.algorithm;
  row.protocol = name_of(p.protocol());
  row.nccl = p.nccl;
  row.channels = p.channels;
  row.chunks = p.chunks;
  row.bound = p.bound;
  row.cause = std::move(p.cause);
  row.band = std::move(p.band);
  row.relief = std::move(p.relief);
  row.chain = std::move(p.chain);
  if (p.made) {
    row.synthesized = p.made->what;
    row.textbook = p.made->textbook;
    row.textbook_time = p.made->textbook_time;
    row.ring = p.made->ring_time;
  }
  row.jitter = p.jitter;
  row.jobs = std::move(p.jobs);
  row.call = std::move(p.call);
  return row;
}

}  // namespace busbar
