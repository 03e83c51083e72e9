#include "busbar/engine/size_index.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "busbar/engine/channels.h"

namespace busbar {
namespace {

constexpr double kEqual = 1e-9;  // of a time: round-off of a lowering, no other term
constexpr std::size_t kMostSamples = 2000;

struct Rectangle {
  double s0 = 0, s1 = 0;  ///< bytes of a chunk
  double k0 = 1, k1 = 1;  ///< chunks, whole
};

}  // namespace

/// Lowers the call where the terms are to be learned.
class SizeIndex::Builder {
 public:
  Builder(Lowering& lowering, CollectiveCall call, SizeIndex& out)
      : lowering_(lowering), call_(std::move(call)), out_(out) {}

  Result<LoweredCall> lower(std::uint64_t bytes, std::uint32_t chunks) {
    call_.bytes = Bytes{bytes};
    call_.chunks = chunks;
    ++out_.lowerings_;
    return lowering_.lower(call_);
  }

  /// The terms that matter somewhere in `r`.
  Result<std::vector<Term>> learn(const Rectangle& r) {
    terms_.clear();
    samples_.clear();
    BUSBAR_RETURN_IF_ERROR(cover(r));
    return std::move(terms_);
  }

 private:
  struct Sample {
    double s = 0, k = 1, ps = 0;
  };

  double largest(double s, double k) const {
    double ps = 0;
    for (const Term& t : terms_) ps = std::max(ps, t.at(s, k));
    return ps;
  }

  /// The time of k chunks that together are the whole number of bytes next to k s.
  Result<Sample> sample(double s, double k) {
    const double bytes = std::max(1.0, std::round(s * k));
    for (const Sample& x : samples_)
      if (x.k == k && x.s * k == bytes) return x;
    BUSBAR_ASSIGN(const LoweredCall call, lower(static_cast<std::uint64_t>(bytes),
                                                out_.chunks_ != 0 ? out_.chunks_ : static_cast<std::uint32_t>(k)));
    samples_.push_back({bytes / k, k, closed_form_ps(call)});
    return samples_.back();
  }

  /// A straight piece of the time along s for k chunks, from a place at a distance of `ds`.
  struct Line {
    double at_zero = 0, per_byte = 0;
    bool straight = true;
    double at(double s) const { return at_zero + per_byte * s; }
  };
  Result<Line> line_at(double s, double k, double ds) {
    BUSBAR_ASSIGN(const Sample p, sample(s, k));
    Line line{p.ps, 0, true};
    if (ds == 0) return line;
    BUSBAR_ASSIGN(const Sample end, sample(s + ds, k));
    if (end.s == p.s) return line;
    line.per_byte = (end.ps - p.ps) / (end.s - p.s);
    line.at_zero = p.ps - line.per_byte * p.s;
    BUSBAR_ASSIGN(const Sample middle, sample(s + ds / 2, k));
    line.straight = std::abs(line.at_zero + line.per_byte * middle.s - middle.ps) <= kEqual * middle.ps;
    return line;
  }

  /// The term that is largest at a place, from its neighbours `ds` bytes and `dk` chunks away; none where the time
  /// bends on the way there.
  Result<std::optional<Term>> term_at(double s, double k, double ds, double dk) {
    BUSBAR_ASSIGN(const Line here, line_at(s, k, ds));
    if (!here.straight) return std::optional<Term>();
    Term t{here.at_zero, here.per_byte, 0, 0};
    if (dk == 0) return std::optional(t);
    BUSBAR_ASSIGN(const Line further, line_at(s, k + dk, ds));
    if (!further.straight) return std::optional<Term>();
    if (std::abs(dk) == 2) {
      BUSBAR_ASSIGN(const Line middle, line_at(s, k + dk / 2, ds));
      const double far = s + ds, mean = (here.at(far) + further.at(far)) / 2;
      if (std::abs((here.at(s) + further.at(s)) / 2 - middle.at(s)) > kEqual * middle.at(s) ||
          std::abs(mean - middle.at(far)) > kEqual * mean)
        return std::optional<Term>();
    }
    t.per_chunk = (further.at_zero - here.at_zero) / dk;
    t.per_chunk_byte = (further.per_byte - here.per_byte) / dk;
    t.fixed -= t.per_chunk * k;
    t.per_byte -= t.per_chunk_byte * k;
    return std::optional(t);
  }

  bool known(const Sample& p) const { return std::abs(largest(p.s, p.k) - p.ps) <= kEqual * p.ps; }
  bool never_above(const Term& t) const {
    return std::all_of(samples_.begin(), samples_.end(),
                       [&](const Sample& x) { return t.at(x.s, x.k) <= x.ps * (1 + kEqual); });
  }

  /// Learns the term at a place where a larger one is missing. Neighbours may lie beyond a bend: then nearer ones.
  Status learn_at(double s, double k, const Rectangle& r) {
    BUSBAR_ASSIGN(const Sample p, sample(s, k));
    if (known(p)) return {};
    const double towards_s = p.s - r.s0 < r.s1 - p.s ? 1 : -1, towards_k = k - r.k0 < r.k1 - k ? 1 : -1;
    const auto inside = [&](double dk) { return k + dk >= r.k0 && k + dk <= r.k1; };
    const double least = 2 / k;  // two bytes of the whole, so that there is a middle
    for (double dk : {2 * towards_k, -2 * towards_k, towards_k, -towards_k, 0.0}) {
      if (dk != 0 && (!inside(dk) || (std::abs(dk) == 1 && inside(2 * dk)))) continue;
      for (double ds = (r.s1 - r.s0) / 4;; ds /= 16) {
        const double by = r.s1 > r.s0 ? towards_s * std::max(least, ds) : 0;
        BUSBAR_ASSIGN(const std::optional<Term> t, term_at(p.s, k, by, dk));
        if (t && never_above(*t)) {
          terms_.push_back(*t);
          return {};
        }
        if (ds <= least || samples_.size() > kMostSamples) break;
      }
    }
    Term flat;  // a corner of bends: right here, and never too large where times grow with the size
    flat.fixed = p.ps;
    if (never_above(flat)) terms_.push_back(flat);
    return {};
  }

  /// Whether one term is the time at all corners, so everywhere in between.
  Result<bool> one_term(const Rectangle& r) {
    std::vector<std::uint8_t> fits(terms_.size(), 1);
    for (const double s : {r.s0, r.s1})
      for (const double k : {r.k0, r.k1}) {
        BUSBAR_ASSIGN(const Sample p, sample(s, k));
        for (std::size_t i = 0; i < fits.size(); ++i)
          fits[i] = fits[i] && std::abs(terms_[i].at(p.s, p.k) - p.ps) <= kEqual * p.ps;
      }
    return std::any_of(fits.begin(), fits.end(), [](std::uint8_t f) { return f != 0; });
  }

  /// For one number of chunks: the time is convex, so two terms that meet where it lies on both are all there are.
  Status cover_line(double s0, double s1, double k, const Rectangle& r) {
    BUSBAR_RETURN_IF_ERROR(learn_at(s0, k, r));
    BUSBAR_RETURN_IF_ERROR(learn_at(s1, k, r));
    BUSBAR_ASSIGN(const bool proved, one_term({s0, s1, k, k}));
    if (proved || s1 - s0 < 2 / k || samples_.size() > kMostSamples) return {};
    double cut = meeting_s(s0, s1, k);
    if (cut <= s0 || cut >= s1) cut = (s0 + s1) / 2;
    cut = std::round(cut * k) / k;
    if (cut <= s0 || cut >= s1) return {};
    BUSBAR_RETURN_IF_ERROR(cover_line(s0, cut, k, r));
    return cover_line(cut, s1, k, r);
  }

  Status cover(const Rectangle& r) {
    if (r.k0 == r.k1) return cover_line(r.s0, r.s1, r.k0, r);
    for (const double k : {r.k0, r.k1}) BUSBAR_RETURN_IF_ERROR(cover_line(r.s0, r.s1, k, r));
    if (r.k1 - r.k0 <= 1 || samples_.size() > kMostSamples) return {};
    BUSBAR_ASSIGN(const bool proved, one_term(r));
    if (proved) return {};
    double cut = std::round(meeting_k(r, r.s0));
    if (cut <= r.k0 || cut >= r.k1) cut = std::round(meeting_k(r, r.s1));
    if (cut <= r.k0 || cut >= r.k1) cut = std::floor((r.k0 + r.k1) / 2);
    BUSBAR_RETURN_IF_ERROR(cover({r.s0, r.s1, r.k0, cut}));
    return cover({r.s0, r.s1, cut, r.k1});
  }

  const Term& largest_term(double s, double k) const {
    return *std::max_element(terms_.begin(), terms_.end(),
                             [&](const Term& a, const Term& b) { return a.at(s, k) < b.at(s, k); });
  }
  /// Where, for k chunks, the largest terms of the two ends cross; the first end where they do not.
  double meeting_s(double s0, double s1, double k) const {
    if (terms_.empty()) return s0;
    const Term &a = largest_term(s0, k), &b = largest_term(s1, k);
    const double slope = (b.per_byte + b.per_chunk_byte * k) - (a.per_byte + a.per_chunk_byte * k);
    return slope <= 0 ? s0 : (a.at(0, k) - b.at(0, k)) / slope;
  }
  /// The same along k, for chunks of s bytes.
  double meeting_k(const Rectangle& r, double s) const {
    if (terms_.empty()) return r.k0;
    const Term &a = largest_term(s, r.k0), &b = largest_term(s, r.k1);
    const double slope = (b.per_chunk + b.per_chunk_byte * s) - (a.per_chunk + a.per_chunk_byte * s);
    return slope <= 0 ? r.k0 : (a.at(s, 0) - b.at(s, 0)) / slope;
  }

  Lowering& lowering_;
  CollectiveCall call_;
  SizeIndex& out_;
  std::vector<Term> terms_;
  std::vector<Sample> samples_;
};

Result<SizeIndex> SizeIndex::make(Lowering& lowering, CollectiveCall call, Bytes low, Bytes high) {
  SizeIndex out;
  const std::uint64_t first = std::max<std::uint64_t>(1, count(low)), last = std::max(first, count(high));
  out.chunks_ = call.chunks;
  const std::uint64_t chunk = count(lowering.protocol().chunk);
  Builder builder(lowering, std::move(call), out);
  for (std::uint64_t n = 1; n <= kFilledChannels; ++n) {
    const std::uint64_t from = n == 1 ? first : std::max(first, n * kBytesPerChannel),
                        to = n < kFilledChannels ? (n + 1) * kBytesPerChannel : last + 1;
    if (from >= to || from > last) continue;
    BUSBAR_ASSIGN(const LoweredCall probe, builder.lower(from, 1));
    std::size_t fluids = 0;
    for (const Stage& s : probe.stages) fluids += s.fluids.size();
    if (!out.ranges_.empty() && out.ranges_.back().channels == probe.channels && out.ranges_.back().fluids == fluids)
      continue;
    Range range;
    range.from = from;
    range.channels = probe.channels;
    range.fluids = fluids;
    out.ranges_.push_back(std::move(range));
  }
  for (std::size_t i = 0; i < out.ranges_.size(); ++i) {
    Range& range = out.ranges_[i];
    const std::uint64_t until = i + 1 < out.ranges_.size() ? out.ranges_[i + 1].from - 1 : last;
    if (out.chunks_ == 0) {
      const std::uint64_t piece = chunk * range.channels;
      const std::uint64_t probed = piece == 0 ? 0 : std::max(until, 2 * piece);
      BUSBAR_ASSIGN(const LoweredCall probe, builder.lower(std::max<std::uint64_t>(probed, range.from), 0));
      range.piece = probe.chunks > 1 ? piece : 0;
    }
    const auto at = static_cast<double>(range.from), end = static_cast<double>(until);
    const auto piece = static_cast<double>(range.piece);
    const double whole_end = range.piece == 0 ? end : std::min(end, 2 * piece - 1);
    if (at <= whole_end) {
      BUSBAR_ASSIGN(range.whole, builder.learn({at, whole_end, 1, 1}));
    }
    if (range.piece == 0 || end < 2 * piece) continue;
    const double k0 = std::max(2.0, std::floor(at / piece)),
                 k1 = std::min<double>(kMostChunks - 1, std::floor(end / piece));
    if (k0 <= k1) {
      BUSBAR_ASSIGN(range.pipelined, builder.learn({piece, piece * (1 + 1 / k0), k0, k1}));
    }
    if (end >= piece * kMostChunks) {
      BUSBAR_ASSIGN(range.capped,
                    builder.learn({std::max(piece, at / kMostChunks), end / kMostChunks, kMostChunks, kMostChunks}));
    }
  }
  return out;
}

double SizeIndex::time_ps(Bytes size) const {
  const std::uint64_t bytes = count(size);
  auto above = std::upper_bound(ranges_.begin() + 1, ranges_.end(), bytes,
                                [](std::uint64_t b, const Range& r) { return b < r.from; });
  const Range& range = *(above - 1);
  double k = 1;
  const std::vector<Term>* terms = &range.whole;
  if (range.piece > 0 && bytes >= 2 * range.piece) {
    k = static_cast<double>(std::min<std::uint64_t>(bytes / range.piece, kMostChunks));
    terms = k == kMostChunks ? &range.capped : &range.pipelined;
  }
  double ps = 0;
  for (const Term& t : *terms) ps = std::max(ps, t.at(static_cast<double>(bytes) / k, k));
  return ps;
}

}  // namespace busbar
