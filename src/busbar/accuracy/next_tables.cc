#include "busbar/accuracy/next_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace busbar::accuracy {
namespace {

/// Calls that one table measures.
using TableKey = std::tuple<bool, collectives::Collective, std::uint32_t, std::string>;
using CallsByTable = std::map<TableKey, std::vector<const WaitedCall*>>;

TableKey table_of(const WaitedCall& c) { return {c.call.several_nodes, c.call.op, c.call.ranks, c.ranks}; }

/// Seconds, one standard deviation.
double spread_of(const CallsByTable& calls, const program::MeasuredCalls& known) {
  double squares = 0;
  for (const auto& [key, list] : calls) {
    double together = 0;
    for (const WaitedCall* c : list) together += c->waits_s * known.at(c->call).sigma;
    squares += together * together;
  }
  return std::sqrt(squares);
}

/// With a measurement of each call of the table.
program::MeasuredCalls with_table(std::vector<program::MeasuredCall> known,
                                  const std::vector<const WaitedCall*>& table) {
  for (const WaitedCall* c : table) known.push_back({c->call, 1, 1});
  return program::MeasuredCalls(std::move(known));
}

}  // namespace

std::vector<NextTable> next_tables(const std::vector<WaitedCall>& calls,
                                   const std::vector<program::MeasuredCall>& known, double answer_s) {
  constexpr double kNineTenths = 1.645;
  CallsByTable by_table;
  for (const WaitedCall& c : calls)
    if (c.waits_s > 0) by_table[table_of(c)].push_back(&c);
  const auto percent = [&](double spread_s) { return 100 * kNineTenths * spread_s / answer_s; };
  const double before = percent(spread_of(by_table, program::MeasuredCalls(known)));
  std::vector<NextTable> out;
  for (const auto& [key, table] : by_table) {
    const auto [low, high] = std::minmax_element(
        table.begin(), table.end(), [](const auto* a, const auto* b) { return a->call.bytes < b->call.bytes; });
    out.push_back({std::get<1>(key), std::get<2>(key), std::get<3>(key), (*low)->call.bytes, (*high)->call.bytes,
                   before, percent(spread_of(by_table, with_table(known, table)))});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const NextTable& a, const NextTable& b) { return a.after_percent < b.after_percent; });
  return out;
}

}  // namespace busbar::accuracy
