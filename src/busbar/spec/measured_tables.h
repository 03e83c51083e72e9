// Tables that were measured on a machine: the key `measured` of a cluster file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "busbar/program/measured_calls.h"
#include "busbar/spec/reading.h"

namespace busbar::spec {

struct MeasuredTable {
  std::string source;  ///< "all_gather.txt"
  std::vector<program::MeasuredCall> calls;
  int first_line = 0, last_line = 0;  ///< of the source; 0: not known
  std::string date{};                 ///< of the measurement: "2026-11-24"; empty: not known
};

Result<std::vector<MeasuredTable>> read_measured_tables(const YamlNode& list);
/// "measured: ...", in the form that read_measured_tables() reads.
std::string measured_yaml(const std::vector<MeasuredTable>& tables);

std::shared_ptr<const program::MeasuredCalls> as_calls(const std::vector<MeasuredTable>& tables);

}  // namespace busbar::spec
