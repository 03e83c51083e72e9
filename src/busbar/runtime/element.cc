#include "busbar/runtime/element.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "busbar/runtime/internal/arithmetic.h"

namespace busbar::runtime {
namespace {

constexpr std::array kTypeNames{"int8",   "uint8", "int32", "uint32", "int64",
                                "uint64", "half",  "float", "double", "bfloat16"};
constexpr std::array kReductionNames{"sum", "prod", "min", "max", "avg"};

/// The place of `name` among `names`.
template <typename Kind, std::size_t N>
Result<Kind> kind_named(std::string_view name, const std::array<const char*, N>& names, const char* what) {
  std::string all;
  for (std::size_t i = 0; i < N; ++i) {
    if (name == names[i]) return static_cast<Kind>(i);
    all += (i > 0 ? ", " : "") + std::string(names[i]);
  }
  return invalid(fmt::format("'{}' is not {} that can run here; use one of {}", name, what, all));
}

/// HOT: every byte that a reduction moves. `to` may be `a`, which is no dependence from one element to another.
template <typename Type, Reduction kBy>
void combine(std::byte* to, const std::byte* a, const std::byte* b, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i)
    put(to, i,
        Type::store(reduced<kBy>(Type::load(at<typename Type::In>(a, i)), Type::load(at<typename Type::In>(b, i)))));
}

template <typename Type>
void divide(std::byte* data, std::size_t count, std::uint32_t by) {
  for (std::size_t i = 0; i < count; ++i)
    put(data, i, Type::store(Type::load(at<typename Type::In>(data, i)) / static_cast<typename Type::With>(by)));
}

}  // namespace

const char* name_of(ElementType type) { return kTypeNames[static_cast<std::size_t>(type)]; }
const char* name_of(Reduction reduction) { return kReductionNames[static_cast<std::size_t>(reduction)]; }

std::size_t size_of(ElementType type) {
  return with_arithmetic(type, [](auto arithmetic) { return sizeof(typename decltype(arithmetic)::In); });
}

Result<ElementType> parse_element_type(std::string_view name) {
  return kind_named<ElementType>(name, kTypeNames, "an element type");
}
Result<Reduction> parse_reduction(std::string_view name) {
  return kind_named<Reduction>(name, kReductionNames, "a reduction");
}

Combine combine_of(ElementType type, Reduction reduction) {
  return with_arithmetic(type, [&](auto arithmetic) {
    return with_reduction(reduction,
                          [](auto by) -> Combine { return combine<decltype(arithmetic), decltype(by)::value>; });
  });
}

Divide divide_of(ElementType type) {
  return with_arithmetic(type, [](auto arithmetic) -> Divide { return divide<decltype(arithmetic)>; });
}

}  // namespace busbar::runtime
