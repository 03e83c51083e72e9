#include "busbar/accuracy/link_tests.h"

#include <algorithm>

#include "busbar/formats/copy_matrix.h"
#include "busbar/formats/lines.h"
#include "busbar/formats/perftest.h"

namespace busbar::accuracy {
namespace {

using Kind = LinkTest::Kind;
using formats::CopyMatrix;

bool says(const CopyMatrix& m, std::string_view words) { return m.title.find(words) != m.title.npos; }

/// What a matrix fits, or why it fits nothing.
LinkTest meaning_of(const CopyMatrix& m) {
  LinkTest out;
  const bool on = says(m, "P2P=Enabled");
  if (says(m, "Latency") && m.corner == "CPU")
    out.why = "it is the time of a thread of the host, which the model does not have";
  else if (says(m, "Latency") && on)
    out.why = "it is the time of the software of a copy, and the model has only that of the link";
  else if (says(m, "Latency"))
    out.kind = Kind::kHostCopyLatency;
  else if (says(m, "Bidirectional") && on)
    out.why = "the model has no figure for both directions of a link together: each has its rate";
  else if (says(m, "Bidirectional"))
    out.kind = Kind::kHostCopiesBothWays;
  else if (!on)
    out.why = "copies through host memory take a fixed share of the rate of PCIe";
  else if (says(m, "Reads"))
    out.why = "the model has one rate for reads and writes: the matrix of writes counts";
  else
    out.kind = Kind::kPairRates;
  return out;
}

/// Divides each figure by twice that of one direction.
void relate_to_one_way(const std::vector<CopyMatrix>& matrices, LinkTest& test) {
  for (const CopyMatrix& m : matrices) {
    if (!says(m, "Unidirectional P2P=Disabled") || m.cells.size() != test.pairs.size()) continue;
    for (std::size_t a = 0; a < test.pairs.size(); ++a)
      for (std::size_t b = 0; b < test.pairs.size(); ++b)
        test.pairs[a][b] = m.cells[a][b] > 0 ? test.pairs[a][b] / (2 * m.cells[a][b]) : 0;
    return;
  }
  test.kind = Kind::kOther;
  test.why = "the matrix of one direction with P2P=Disabled is missing; give the complete output";
}

Result<std::vector<LinkTest>> copy_tests(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(const formats::CopyTest read, formats::read_copy_matrices(text, name));
  const std::string date = date_in(text, name);
  std::vector<LinkTest> out;
  for (const CopyMatrix& m : read.matrices) {
    if (says(m, "Connectivity")) continue;
    LinkTest& test = out.emplace_back(meaning_of(m));
    test.what = m.corner == "CPU" ? m.title + ", CPU" : m.title;
    test.at = {name, m.first_line, m.last_line, date};
    test.product = read.product;
    test.pairs = m.cells;
    if (test.kind == Kind::kHostCopiesBothWays) relate_to_one_way(read.matrices, test);
  }
  return out;
}

/// A table of perftest: its row that counts.
LinkTest meaning_of(const formats::PerftestRow& row) {
  constexpr std::int64_t kLargeMessage = 64 << 10, kSmallMessage = 256;
  LinkTest out;
  if (row.gigabits > 0) {
    out.value = row.gigabits / 8;
    if (row.both_ways)
      out.why = "the model has no figure for both directions of a NIC together: each has its rate";
    else if (row.bytes < kLargeMessage)
      out.why = "messages below 64 KiB do not reach the rate of a NIC; measure with -s 8388608";
    else
      out.kind = row.gpu_memory ? Kind::kGpuNicRate : Kind::kNicRate;
    return out;
  }
  out.value = row.us;
  if (row.test.empty())
    out.why = "its test is not named: a read takes twice the time of a write; give the complete output";
  else if (row.test.find("Read") != row.test.npos || row.test.find("Atomic") != row.test.npos)
    out.why = "reads and atomics cross the network twice; measure with ib_write_lat or ib_send_lat";
  else if (row.gpu_memory)
    out.why = "latencies to the memory of a GPU contain its PCIe slot; measure without --use_cuda";
  else if (row.bytes > kSmallMessage)
    out.why = "messages above 256 B take time for their bytes; measure with -s 2";
  else
    out.kind = Kind::kNicLatency;
  return out;
}

/// The largest message of a table of rates, the smallest of one of latencies.
bool counts_more(const formats::PerftestRow& a, const formats::PerftestRow& b) {
  return a.gigabits > 0 ? a.bytes > b.bytes : a.bytes < b.bytes;
}

struct NicTable {
  formats::PerftestRow row;
  int first_line = 0, last_line = 0;
};

LinkTest nic_test(const NicTable& t, const std::string& name, const std::string& date) {
  LinkTest out = meaning_of(t.row);
  out.what = t.row.test.empty() ? t.row.gigabits > 0 ? "perftest, rate" : "perftest, latency" : t.row.test;
  if (!t.row.device.empty()) out.what += " of " + t.row.device;
  out.at = {name, t.first_line, t.last_line, date};
  return out;
}

Result<std::vector<LinkTest>> nic_tests(std::string_view text, const std::string& name) {
  formats::LineSource lines = formats::LineSource::of_text(text, name);
  lines.skip_prefixes();
  formats::PerftestLines perftest;
  std::vector<NicTable> tables;
  std::int64_t last_bytes = 0;
  for (std::string_view line; lines.next(line);) {
    const std::optional<formats::PerftestRow> row = perftest.read(line);
    if (!row) {
      if (line.find("#bytes") != line.npos) last_bytes = 0;
      continue;
    }
    if (last_bytes == 0) tables.push_back({*row, lines.number(), lines.number()});
    NicTable& table = tables.back();
    table.last_line = lines.number();
    if (counts_more(*row, table.row)) table.row = *row;
    last_bytes = row->bytes;
  }
  const std::string date = date_in(text, name);
  std::vector<LinkTest> out;
  for (const NicTable& t : tables) out.push_back(nic_test(t, name, date));
  if (out.empty())
    return invalid("the table of perftest has no rows; give the complete output of the client", {name, 0, 0, ""});
  return out;
}

}  // namespace

bool looks_like_link_tests(std::string_view text) {
  return formats::looks_like_copy_test(text) || formats::looks_like_perftest(text);
}

Result<std::vector<LinkTest>> read_link_tests(std::string_view text, const std::string& name) {
  return formats::looks_like_copy_test(text) ? copy_tests(text, name) : nic_tests(text, name);
}

}  // namespace busbar::accuracy
