// A config.json: refused with a message, or a model whose layers are all of a known kind and whose numbers are finite.
#include <cmath>
#include <string_view>

#include "busbar/base/check.h"
#include "busbar/spec/model_file.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  constexpr std::uint32_t kTokens = 4096;
  const auto document = YamlDocument::parse(std::string(reinterpret_cast<const char*>(data), size), "config.json");
  if (!document.ok()) return 0;
  const auto model = spec::read_model(document->root());
  if (!model.ok()) {
    BUSBAR_CHECK(!model.error().message.empty());
    return 0;
  }
  const workload::LayerTable table = workload::layer_table(*model);
  BUSBAR_CHECK(table.of.size() >= model->layers) << table.of.size() << " of " << model->layers << " layers";
  for (const std::uint16_t kind : table.of) BUSBAR_CHECK(kind < table.kinds.size());
  const std::uint64_t all = workload::parameter_count(*model), active = workload::active_parameter_count(*model);
  BUSBAR_CHECK(active > 0 && active <= all) << active << " of " << all;
  BUSBAR_CHECK(std::isfinite(workload::flops_per_token(*model, kTokens).causal));
  workload::cache_bytes(*model, kTokens);
  return 0;
}
