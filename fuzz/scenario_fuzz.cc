// A scenario file with its model and layout: refused with a message, or a layout that satisfies its guarantees.
#include <numeric>

#include "busbar/base/check.h"
#include "busbar/spec/scenario.h"
#include "fuzz.h"
#include "input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  constexpr std::uint32_t kGpus = 512;
  static fuzz::InputFile file;
  static const spec::Catalog catalog;
  file.write(data, size);
  const auto scenario = spec::load_scenario(file.path(), {}, {}, catalog);
  if (!scenario.ok()) {
    BUSBAR_CHECK(!scenario.error().message.empty());
    return 0;
  }
  const auto layout = workload::resolve_layout(scenario->layout, scenario->model, kGpus);
  if (!layout.ok()) return 0;
  const std::uint64_t used = std::uint64_t{layout->tp} * layout->pp * layout->dp;
  BUSBAR_CHECK(used >= 1 && used <= kGpus) << used << " GPUs";
  const auto layers = std::accumulate(layout->split.chunk_layers.begin(), layout->split.chunk_layers.end(), 0u);
  BUSBAR_CHECK(scenario->model.heads % layout->tp == 0 && layers == scenario->model.layers);
  return 0;
}
