// How elements of each type are read, combined and written.
#pragma once

#include <cstring>
#include <type_traits>

#include "busbar/runtime/element.h"
#include "busbar/runtime/internal/small_floats.h"

namespace busbar::runtime {

/// A type in memory and the type that computes: sums of signed integers wrap, as those of unsigned ones.
template <typename Stored, typename Computed>
struct Arithmetic {
  using In = Stored;
  using With = Computed;
  static With load(Stored x) { return static_cast<With>(x); }
  static Stored store(With x) { return static_cast<Stored>(x); }
};
struct HalfArithmetic {
  using In = Half;
  using With = float;
  static float load(Half x) { return to_float(x); }
  static Half store(float x) { return to_half(x); }
};
struct Bfloat16Arithmetic {
  using In = Bfloat16;
  using With = float;
  static float load(Bfloat16 x) { return to_float(x); }
  static Bfloat16 store(float x) { return to_bfloat16(x); }
};

/// Calls f with the arithmetic of the type.
template <typename F>
auto with_arithmetic(ElementType type, F&& f) {
  switch (type) {
    case ElementType::kInt8:
      return f(Arithmetic<std::int8_t, std::int32_t>());
    case ElementType::kUint8:
      return f(Arithmetic<std::uint8_t, std::uint32_t>());
    case ElementType::kInt32:
      return f(Arithmetic<std::int32_t, std::int64_t>());
    case ElementType::kUint32:
      return f(Arithmetic<std::uint32_t, std::uint64_t>());
    case ElementType::kInt64:
      return f(Arithmetic<std::int64_t, std::int64_t>());
    case ElementType::kUint64:
      return f(Arithmetic<std::uint64_t, std::uint64_t>());
    case ElementType::kHalf:
      return f(HalfArithmetic());
    case ElementType::kFloat:
      return f(Arithmetic<float, float>());
    case ElementType::kDouble:
      return f(Arithmetic<double, double>());
    case ElementType::kBfloat16:
      break;
  }
  return f(Bfloat16Arithmetic());
}

template <typename T>
T wrapped_sum(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}
template <typename T>
T wrapped_product(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}

template <Reduction kBy, typename T>
T reduced(T a, T b) {
  if constexpr (kBy == Reduction::kProd) return wrapped_product(a, b);
  if constexpr (kBy == Reduction::kMin) return b < a ? b : a;
  if constexpr (kBy == Reduction::kMax) return a < b ? b : a;
  return wrapped_sum(a, b);
}

/// Calls f with the reduction as a type.
template <typename F>
auto with_reduction(Reduction by, F&& f) {
  switch (by) {
    case Reduction::kProd:
      return f(std::integral_constant<Reduction, Reduction::kProd>());
    case Reduction::kMin:
      return f(std::integral_constant<Reduction, Reduction::kMin>());
    case Reduction::kMax:
      return f(std::integral_constant<Reduction, Reduction::kMax>());
    case Reduction::kSum:
    case Reduction::kAvg:
      break;
  }
  return f(std::integral_constant<Reduction, Reduction::kSum>());
}

template <typename T>
T at(const std::byte* data, std::size_t i) {
  T x;
  std::memcpy(&x, data + i * sizeof(T), sizeof(T));
  return x;
}
template <typename T>
void put(std::byte* data, std::size_t i, T x) {
  std::memcpy(data + i * sizeof(T), &x, sizeof(T));
}

}  // namespace busbar::runtime
