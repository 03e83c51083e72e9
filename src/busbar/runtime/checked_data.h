// Data that betrays a misplaced byte: an element's value depends on the rank that gave it and on its place in the whole
// collective, and what must arrive is computed from the definition of the collective, exactly.
#pragma once

#include <cstddef>
#include <cstdint>

#include "busbar/collectives/collective_demand.h"
#include "busbar/runtime/element.h"
#include "busbar/runtime/executable.h"

namespace busbar::runtime {

/// How the chunks of a plan are filled.
struct Filling {
  ElementType type = ElementType::kFloat;
  Reduction reduction = Reduction::kSum;
  std::size_t chunk_elements = 1;
  std::size_t chunk_bytes() const { return chunk_elements * size_of(type); }
};

/// Values are such that sums and products over the ranks are exact in every type, up to 256 ranks (bfloat16: 64).
class TestData {
 public:
  TestData(const Executable& program, const Filling& filling);

  /// Writes the input of `rank` to its memory, and something wrong everywhere else.
  void fill(std::uint32_t rank, std::byte* memory) const;
  /// Number of elements of the output of `rank` that are not as they must be.
  std::uint64_t wrong(std::uint32_t rank, const std::byte* memory) const;

 private:
  const Executable& program_;
  collectives::CollectiveDemand demand_;
  Filling filling_;
};

}  // namespace busbar::runtime
