#include "busbar/spec/larger_gpus.h"

#include <algorithm>
#include <tuple>

#include "busbar/spec/internal/identity.h"
#include "busbar/spec/internal/unit_figure.h"

namespace busbar::spec {
namespace {

struct Product {
  topology::DeviceClass identity;
  Bytes memory{0};
  double tflops = 0;
};

Result<Product> read_product(const std::string& name, const Catalog& catalog) {
  BUSBAR_ASSIGN(const YamlDocument file, catalog.load("gpus", name));
  const YamlNode root = file.root();
  Product out;
  if (const auto identity = root.find("identity")) BUSBAR_RETURN_IF_ERROR(read_gpu_identity(*identity, out.identity));
  BUSBAR_ASSIGN(out.memory, root.find("memory").value_or(YamlNode()).as_size());
  const auto peak = root.find("peak");
  if (const auto bf16 = peak ? peak->find("bf16") : std::nullopt) {
    BUSBAR_ASSIGN(out.tflops, unit_figure(*bf16, "TFLOP/s"));
  }
  return out;
}

bool same_generation(const topology::DeviceClass& a, const topology::DeviceClass& b) {
  const bool known = a.compute_capability > 0 || !a.architecture.empty();
  return known && a.compute_capability == b.compute_capability && a.architecture == b.architecture;
}

}  // namespace

Result<std::vector<LargerGpu>> larger_gpus(const std::string& part, Bytes memory, const Catalog& catalog) {
  std::vector<LargerGpu> out;
  if (!catalog.has("gpus", part)) return out;
  BUSBAR_ASSIGN(const Product now, read_product(part, catalog));
  for (const std::string& name : catalog.names("gpus")) {
    BUSBAR_ASSIGN(const Product other, read_product(name, catalog));
    if (same_generation(now.identity, other.identity) && other.memory > memory && other.tflops >= now.tflops)
      out.push_back({name, other.memory});
  }
  std::sort(out.begin(), out.end(), [](const LargerGpu& a, const LargerGpu& b) {
    return std::tie(a.memory, a.name) < std::tie(b.memory, b.name);
  });
  return out;
}

}  // namespace busbar::spec
