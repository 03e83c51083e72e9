// The matrices of p2pBandwidthLatencyTest and nvbandwidth: a figure for each pair of GPUs.
//
//   Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
//      D\D     0      1
//        0 1521.42 274.23
//        1  272.17 1591.14
//
// Source of the shapes: NVIDIA cuda-samples, Samples/5_Domain_Specific/p2pBandwidthLatencyTest; NVIDIA nvbandwidth.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"

namespace busbar::formats {

struct CopyMatrix {
  std::string title;   ///< the line before it: "P2P=Disabled Latency Matrix (us)"; empty: none
  std::string corner;  ///< "D\D", "GPU", "CPU"; empty: none
  int first_line = 0, last_line = 0;
  std::vector<std::vector<double>> cells;  ///< by row and column; 0: N/A
};

struct CopyTest {
  std::string product;  ///< "NVIDIA H100 80GB HBM3", of the first device; empty: not said
  std::vector<CopyMatrix> matrices;
};

/// Nothing in a text without a matrix. Error kInvalid with its line: a row that has not one number per column, a matrix
/// that ends before its last row.
Result<CopyTest> read_copy_matrices(std::string_view text, const std::string& name);

/// Whether the text has a matrix with a title of p2pBandwidthLatencyTest.
bool looks_like_copy_test(std::string_view text);

}  // namespace busbar::formats
