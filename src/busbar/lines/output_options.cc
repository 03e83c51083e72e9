#include "busbar/lines/output_options.h"

#include <ctime>

namespace busbar::lines {

std::vector<Flag> output_flags(OutputOptions& o) {
  return {{"--json", "", "one JSON object on stdout instead of text", "Output", &o.json},
          {"--csv", "", "the rows as CSV instead of text, with the keys of --json as columns", "Output", &o.csv},
          {"--html", "FILE", "also write a self-contained page", "Output", &o.html}};
}

Json RunClock::to_json() const {
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start_;
  return {{"wall_s", wall.count()}, {"cpu_s", static_cast<double>(std::clock()) / CLOCKS_PER_SEC}};
}

}  // namespace busbar::lines
