#include "busbar/runtime/checked_data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "busbar/base/random.h"
#include "busbar/runtime/internal/arithmetic.h"

namespace busbar::runtime {
namespace {

template <typename Type>
constexpr int kDigits = std::numeric_limits<typename Type::In>::digits;
template <>
constexpr int kDigits<HalfArithmetic> = 11;
template <>
constexpr int kDigits<Bfloat16Arithmetic> = 8;

/// The value that `rank` gives at `place`. Integers wrap, so all their bits are used. Of numbers with a point, sums get
/// small integers, and products powers of two.
template <typename Type>
typename Type::In value(Reduction by, std::uint32_t ranks, std::uint32_t rank, std::uint64_t place) {
  const std::uint64_t h = mix64(place * 0x1f123bb5u + rank);
  if constexpr (std::is_integral_v<typename Type::In>)
    return static_cast<typename Type::In>(h | (by == Reduction::kProd));
  else if (by == Reduction::kProd) {
    const int exponent = rank < 12 ? static_cast<int>(h % 3) - 1 : 0;
    return Type::store(std::ldexp(typename Type::With{1}, exponent) * (h >> 63 ? -1 : 1));
  } else {
    const bool adds = by == Reduction::kSum || by == Reduction::kAvg;
    const int digits = std::max(1, kDigits<Type> - (adds ? static_cast<int>(std::bit_width(ranks - 1)) : 0));
    return Type::store(static_cast<typename Type::With>(h & ((std::uint64_t{1} << digits) - 1)));
  }
}

/// The ranks whose input an output chunk must hold.
std::vector<std::uint32_t> givers_of(const collectives::CollectiveDemand& demand, std::uint32_t ranks,
                                     std::uint32_t chunk) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t r = 0; r < ranks; ++r)
    if (demand.demands(r, chunk)) out.push_back(r);
  return out;
}

template <typename Type, Reduction kBy>
typename Type::In expected(Reduction by, std::uint32_t ranks, const std::vector<std::uint32_t>& givers,
                           std::uint64_t place) {
  typename Type::With sum = Type::load(value<Type>(by, ranks, givers[0], place));
  for (std::size_t i = 1; i < givers.size(); ++i)
    sum = Type::load(Type::store(reduced<kBy>(sum, Type::load(value<Type>(by, ranks, givers[i], place)))));
  return Type::store(sum);
}

}  // namespace

TestData::TestData(const Executable& program, const Filling& filling)
    : program_(program), demand_(collectives::demand_of(program.plan).value()), filling_(filling) {}

void TestData::fill(std::uint32_t rank, std::byte* memory) const {
  const collectives::ExecutionPlan& plan = program_.plan;
  std::memset(memory, 0x5a, program_.chunks_of(rank) * filling_.chunk_bytes());
  if (rank >= plan.ranks) return;
  with_arithmetic(filling_.type, [&](auto arithmetic) {
    for (std::uint32_t i = 0, held = collectives::input_chunks(plan); i < held; ++i) {
      const std::uint32_t chunk = collectives::chunk_of_input(plan, rank, i);
      if (!demand_.has_input(rank, chunk)) continue;
      std::byte* to = memory + program_.place({rank, collectives::PlanBuffer::kInput, i}) * filling_.chunk_bytes();
      const std::uint64_t first = std::uint64_t{chunk} * filling_.chunk_elements;
      for (std::size_t e = 0; e < filling_.chunk_elements; ++e)
        put(to, e, value<decltype(arithmetic)>(filling_.reduction, plan.ranks, rank, first + e));
    }
  });
}

std::uint64_t TestData::wrong(std::uint32_t rank, const std::byte* memory) const {
  const collectives::ExecutionPlan& plan = program_.plan;
  if (rank >= plan.ranks) return 0;
  const bool divided = program_.first_division < plan.steps.size();
  std::uint64_t wrong = 0;
  const auto check_chunk = [&]<typename Type, Reduction kBy>(std::uint32_t i, std::uint32_t chunk) {
    const std::vector<std::uint32_t> givers = givers_of(demand_, plan.ranks, chunk);
    const std::byte* at_chunk =
        memory + program_.place({rank, collectives::PlanBuffer::kOutput, i}) * filling_.chunk_bytes();
    const std::uint64_t first = std::uint64_t{chunk} * filling_.chunk_elements;
    for (std::size_t e = 0; e < filling_.chunk_elements; ++e) {
      typename Type::In want = expected<Type, kBy>(filling_.reduction, plan.ranks, givers, first + e);
      if (divided) want = Type::store(Type::load(want) / static_cast<typename Type::With>(plan.ranks));
      const auto found = at<typename Type::In>(at_chunk, e);
      wrong += std::memcmp(&want, &found, sizeof want) != 0;
    }
  };
  with_arithmetic(filling_.type, [&](auto arithmetic) {
    with_reduction(filling_.reduction, [&](auto by) {
      for (std::uint32_t i = 0, held = collectives::output_chunks(plan); i < held; ++i) {
        const std::uint32_t chunk = collectives::chunk_of_output(plan, rank, i);
        if (demand_.has_output(rank, chunk))
          check_chunk.template operator()<decltype(arithmetic), decltype(by)::value>(i, chunk);
      }
    });
  });
  return wrong;
}

}  // namespace busbar::runtime
