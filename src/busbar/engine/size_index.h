// The closed-form time of one call for every size, from some dozens of lowerings: an index that answers in microseconds
// however large the machine is and whatever is broken in it.
//
// Invariants:
//  1. While the number of channels stays, a call of k chunks of s bytes takes the largest of some terms
//     a + b s + c k + d k s: latencies, bytes on a link, what each chunk is held up, chunks on a link (DESIGN 4.3).
//  2. A term that is largest at all four corners of a rectangle of (s, k) is so everywhere in it, as the time is
//     convex in s and in k.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/engine/lowering.h"

namespace busbar {

class SizeIndex {
 public:
  /// Indexes `call`, whose size is ignored, for sizes of `low` to `high` bytes. Cost: some twenty lowerings, more where
  /// the slowest chain changes with the size, or small calls take fewer channels. Errors: those of Lowering::lower at
  /// any of the sizes.
  static Result<SizeIndex> make(Lowering& lowering, CollectiveCall call, Bytes low, Bytes high);

  /// What closed_form_ps says of the call lowered with that size, in ps. Precondition: low <= size <= high. No
  /// allocation; cost: a binary search and a few terms.
  double time_ps(Bytes size) const;
  std::uint32_t lowerings() const { return lowerings_; }

 private:
  struct Term {
    double fixed = 0, per_byte = 0, per_chunk = 0, per_chunk_byte = 0;
    double at(double s, double k) const { return fixed + per_byte * s + per_chunk * k + per_chunk_byte * k * s; }
  };
  /// Sizes from `from` on that are laid out alike, `piece` bytes to a chunk; 0: one chunk whatever the size.
  struct Range {
    std::uint64_t from = 0, piece = 0;
    std::uint32_t channels = 1;
    std::size_t fluids = 0;  ///< equally many channels may be laid out otherwise
    std::vector<Term> whole, pipelined, capped;  ///< one chunk; as many as there are pieces; as many as there may be
  };
  class Builder;

  std::vector<Range> ranges_;
  std::uint32_t chunks_ = 0;  ///< as the call says; 0: they follow from the size
  std::uint32_t lowerings_ = 0;
};

}  // namespace busbar
