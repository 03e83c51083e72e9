#include "busbar/program/program.h"

#include "busbar/base/check.h"
#include "busbar/collectives/builders.h"

namespace busbar {

const char* name_of(OpClass c) {
  switch (c) {
    case OpClass::kCompute:
      return "compute";
    case OpClass::kTp:
      return "tp";
    case OpClass::kDp:
      return "dp";
    case OpClass::kPp:
      return "pp";
    case OpClass::kCp:
      return "cp";
    case OpClass::kEp:
      return "ep";
    case OpClass::kOptimizer:
      return "optimizer";
    case OpClass::kOther:
      return "other";
  }
  BUSBAR_CHECK(false) << "op class " << static_cast<int>(c);
  return "";
}

AlgorithmTraits traits_of(const CollectiveCall& call) {
  return call.schedule ? call.schedule->traits : traits_of(call.algorithm);
}

}  // namespace busbar
