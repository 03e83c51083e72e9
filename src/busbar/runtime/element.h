// Element types and reductions of nccl-tests, and the loops that add buffers of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "busbar/base/result.h"

namespace busbar::runtime {

enum class ElementType : std::uint8_t {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kHalf,
  kFloat,
  kDouble,
  kBfloat16
};
enum class Reduction : std::uint8_t { kSum, kProd, kMin, kMax, kAvg };

const char* name_of(ElementType type);     ///< as nccl-tests writes it: "float"
const char* name_of(Reduction reduction);  ///< "sum"
std::size_t size_of(ElementType type);     ///< bytes
Result<ElementType> parse_element_type(std::string_view name);
Result<Reduction> parse_reduction(std::string_view name);

/// to[i] = a[i] op b[i] for `count` elements; `to` may be `a` or `b`. An average is a sum until it is divided.
using Combine = void (*)(std::byte* to, const std::byte* a, const std::byte* b, std::size_t count);
Combine combine_of(ElementType type, Reduction reduction);

/// data[i] /= by. Integers lose their remainder, as in NCCL.
using Divide = void (*)(std::byte* data, std::size_t count, std::uint32_t by);
Divide divide_of(ElementType type);

}  // namespace busbar::runtime
