// Benchmark cases, as listed in bench/cases.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace busbar::bench {

/// The time of another simulator for the same question.
struct Peer {
  std::string name;
  double cpu_s = 0;
  double peak_mib = 0;
  double predicted_ms = 0;
};

struct Case {
  std::string name;
  std::vector<std::string> command;  ///< arguments of busbar, without the program itself
  std::string result;                ///< JSON pointer to the predicted time in its output
  double result_ms = 1;              ///< milliseconds per unit of that number
  std::optional<double> closed_form_ms, target_cpu_s, target_peak_mib;
  std::vector<Peer> peers;
};

struct CaseFile {
  std::vector<Case> cases;
  std::string peers_source;
};

/// Throws std::exception with a readable message if the file cannot be read.
CaseFile load_cases(const std::string& path);

}  // namespace busbar::bench
