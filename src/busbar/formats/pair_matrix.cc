#include "busbar/formats/pair_matrix.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "busbar/base/csv.h"

namespace busbar::formats {
namespace {

constexpr std::uint32_t kMostMatrixRanks = 4096;     // memory holds ranks^2 counts
constexpr std::uint64_t kMostPairChunks = 1u << 31;  // counted in 32 bits
constexpr double kMostPairBytes = 1e15;              // per pair

Result<std::uint32_t> rank_at(const CsvTable& t, std::size_t row, const char* column, std::uint32_t ranks) {
  BUSBAR_ASSIGN(const std::optional<double> number, t.number(row, column));
  if (!number || *number < 0 || *number >= ranks || *number != std::floor(*number))
    return invalid(fmt::format("'{}' is not one of the ranks 0 to {}", t.cell(row, column), ranks - 1),
                   t.where(row, column));
  return static_cast<std::uint32_t>(*number);
}

Result<std::uint64_t> bytes_at(const CsvTable& t, std::size_t row) {
  BUSBAR_ASSIGN(const std::optional<double> number, t.number(row, "bytes"));
  if (!number || *number < 0 || *number > kMostPairBytes)
    return invalid(fmt::format("'{}' is not a size in bytes from 0 to 1e15", t.cell(row, "bytes")),
                   t.where(row, "bytes"));
  return static_cast<std::uint64_t>(std::llround(*number));
}

/// Running sums of the sizes in the order of pairs, in chunks of one size.
collectives::PairCounts in_chunks(const std::vector<std::uint64_t>& bytes) {
  std::uint64_t divisor = 0;
  long double whole = 0;
  for (const std::uint64_t b : bytes) divisor = std::gcd(divisor, b), whole += static_cast<long double>(b);
  const long double chunk = std::max(static_cast<long double>(divisor), whole / kMostPairChunks);
  collectives::PairCounts out;
  out.begin.reserve(bytes.size() + 1);
  long double sum = 0;
  out.begin.push_back(0);
  for (const std::uint64_t b : bytes) {
    sum += static_cast<long double>(b);
    out.begin.push_back(static_cast<std::uint32_t>(std::llround(sum / chunk)));
  }
  return out;
}

Result<PairMatrix> read(const CsvTable& t, std::uint32_t ranks) {
  if (ranks > kMostMatrixRanks)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("a matrix over {} ranks: at most {}; take fewer with -g", ranks, kMostMatrixRanks),
                 {t.file(), 0, 0, ""}};
  for (const char* column : {"src", "dst", "bytes"})
    if (t.column(column) == CsvTable::kAbsent)
      return invalid(fmt::format("there is no column '{}'; the first line reads src,dst,bytes", column),
                     {t.file(), 1, 0, ""});
  std::vector<std::uint64_t> bytes(std::size_t{ranks} * ranks, 0);
  std::vector<bool> seen(bytes.size(), false);
  for (std::size_t row = 0; row < t.rows(); ++row) {
    BUSBAR_ASSIGN(const std::uint32_t src, rank_at(t, row, "src", ranks));
    BUSBAR_ASSIGN(const std::uint32_t dst, rank_at(t, row, "dst", ranks));
    const std::size_t pair = std::size_t{src} * ranks + dst;
    if (seen[pair])
      return invalid(fmt::format("the pair {} to {} stands above already; add its sizes up", src, dst),
                     t.where(row, "src"));
    seen[pair] = true;
    BUSBAR_ASSIGN(bytes[pair], bytes_at(t, row));
  }
  PairMatrix out;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(std::size_t{r} * ranks);
    out.busiest = std::max(out.busiest, Bytes{std::accumulate(first, first + ranks, std::uint64_t{0})});
  }
  if (count(out.busiest) == 0) return invalid("no pair exchanges anything", {t.file(), 0, 0, "bytes"});
  out.counts = in_chunks(bytes);
  return out;
}

}  // namespace

Result<PairMatrix> read_pair_matrix(const std::string& file, std::uint32_t ranks) {
  BUSBAR_ASSIGN(const CsvTable t, CsvTable::load(file));
  return read(t, ranks);
}

Result<PairMatrix> parse_pair_matrix(std::string_view text, const std::string& name, std::uint32_t ranks) {
  BUSBAR_ASSIGN(const CsvTable t, CsvTable::parse(text, name));
  return read(t, ranks);
}

}  // namespace busbar::formats
