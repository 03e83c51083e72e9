// A machine fitted to measured results.
#include <fmt/core.h>

#include "busbar/questions/calibrate_question.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::CalibrateRequest;
using questions::CalibrateResult;

Document calibrate_document(const CalibrateRequest& q, const CalibrateResult& r) {
  Document d{fmt::format("{} fitted to {}", r.cluster, q.measured.results), {}, {}};
  Facts facts;
  facts.items = {{"before", fmt::format("{:.1f} % median error", r.before.median_abs_percent)},
                 {"after", fmt::format("{:.1f} % median error", r.after.median_abs_percent)},
                 {"bandwidth", fmt::format("{:.1f} % of the expected value", r.share * 100)},
                 {"latency", fmt::format("{:.1f} % of the expected value", r.latency_factor * 100)},
                 {"launch", fmt::format("{:.1f} us", r.launch_us)},
                 {"verdict", fmt::format("{}: {}", r.verdict, r.why)}};
  d.add(facts);
  if (q.overlay.empty()) return d;
  d.add(Paragraph{r.files.empty() ? "The overlay is not written." : "overlay: " + q.overlay});
  return d;
}

}  // namespace

View calibrate_view() { return make_view("calibrate", calibrate_document); }

}  // namespace busbar::views
