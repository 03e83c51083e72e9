// report_demo DIR: writes sample pages for inspection. Built with the tests, never installed.
#include <fmt/core.h>

#include <fstream>

#include "busbar/report/demo/sample.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: report_demo DIRECTORY\n");
    return 2;
  }
  const std::string directory = argv[1];
  const busbar::Document step = busbar::demo::training_step();
  std::ofstream(directory + "/step.html") << busbar::render_html(step);
  std::ofstream(directory + "/step.txt") << busbar::render_text(step, {100, false, true});
  std::ofstream(directory + "/step-ascii.txt") << busbar::render_text(step, {60, false, false});
  std::ofstream(directory + "/server.svg") << busbar::render_svg(busbar::lay_out(busbar::demo::server()));
  std::ofstream(directory + "/fabric.svg") << busbar::render_svg(busbar::lay_out(busbar::demo::fabric(2, 32, 8, 16)));
  std::ofstream(directory + "/large.svg") << busbar::render_svg(busbar::lay_out(busbar::demo::fabric(16, 32, 8, 64)));
  busbar::Document busy{"A busy timeline", "", {}};
  busy.blocks.push_back({busbar::demo::busy_timeline(24, 100'000), busbar::Audience::kBoth});
  std::ofstream(directory + "/busy.html") << busbar::render_html(busy);
  return 0;
}
