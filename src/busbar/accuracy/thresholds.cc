#include "busbar/accuracy/thresholds.h"

#include <algorithm>

namespace busbar::accuracy {

Result<Thresholds> acceptance_thresholds(const ExpectOptions& options, std::span<const collectives::Collective> ops,
                                         std::span<const std::uint64_t> sizes) {
  BUSBAR_ASSIGN(const predict::AccuracyTable accuracy,
                predict::AccuracyTable::load(spec::Catalog(options.overrides.catalog)));
  BUSBAR_ASSIGN(const auto machine, predictor_of(options, options.overrides, &accuracy));
  Thresholds out;
  out.ranks = machine->ranks();
  out.launch = machine->protocol().launch;
  out.inputs = machine->cluster().text;
  std::size_t known = 0;
  for (const collectives::Collective op : ops)
    for (const std::uint64_t size : sizes) {
      if (options.go_on && !options.go_on(known++, ops.size() * sizes.size())) return out;
      const Result<predict::Prediction> p =
          machine->time(predict::call_over(op, Bytes{size}, out.ranks), {.relief = false});
      if (stops(options.policy.stop)) return out;
      if (!p.ok() && p.error().code == ErrorCode::kUnsupported) continue;
      if (!p.ok()) return p.error();
      Threshold t;
      t.op = op;
      t.size_bytes = size;
      t.band = p->band;
      t.expected_us = p->time.in_us();
      t.most_us = t.expected_us * (1 + t.band.high_percent / 100);
      t.least_us = std::max(t.expected_us * (1 + t.band.low_percent / 100), p->floor.time.in_us());
      const double carried = predict::bus_factor(op, out.ranks) * static_cast<double>(size) / 1e3;  // GB/s x us
      t.expected_busbw_GBps = carried / t.expected_us;
      t.least_busbw_GBps = carried / t.most_us;
      t.most_busbw_GBps = carried / t.least_us;
      t.how = predict::how_of(*p);
      t.bound_by = predict::limit_of(*p, machine->cluster().topology);
      out.rows.push_back(std::move(t));
    }
  return out;
}

}  // namespace busbar::accuracy
