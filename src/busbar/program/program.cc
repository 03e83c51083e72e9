#include "busbar/program/program.h"

#include <iterator>

#include "busbar/collectives/builders.h"

namespace busbar::program {

const char* name_of(OpClass c) {
  constexpr const char* kNames[] = {"compute", "tp", "dp", "pp", "cp", "ep", "optimizer", "other"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(OpClass::kOther) + 1);
  return kNames[static_cast<std::size_t>(c)];
}

std::span<const CollectiveCall> parts_of(const CollectiveCall& call) {
  if (call.parts.empty()) return {&call, 1};
  return call.parts;
}

collectives::AlgorithmTraits traits_of(const CollectiveCall& call) {
  return call.schedule ? call.schedule->traits : collectives::traits_of(call.algorithm);
}

}  // namespace busbar::program
