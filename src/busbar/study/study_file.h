// A study: one command with many settings. Cells are numbered; each is a command line.
//
//   command: train examples/llama3-70b-512xh100.yaml
//   grid:                                   # all combinations, the last key fastest
//     --global-batch: [512, 1024, 2048]
//     fabric.link.rate: [200Gb/s, 400Gb/s]  # a key without dashes is one of --set
//     --micro-batch: {from: 1, to: 8, times: 2}
//   list:                                   # each combination with each of these
//     - {--tp: 8, --pp: 1}
//     - {--tp: 4, --pp: 2}
//   random: {samples: 100, seed: 1, --seq: {from: 2048, to: 8192, multiple_of: 128}, --zero: [1, 2, 3]}
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/yaml.h"

namespace busbar::study {

/// Keys and values in the file's order.
using CellSettings = std::vector<std::pair<std::string, std::string>>;

class Study {
 public:
  static Result<Study> load(const std::string& path);
  /// `name`: the file's name in messages.
  static Result<Study> parse(std::string text, const std::string& name);

  const std::string& text() const { return text_; }
  std::uint64_t cells() const { return cells_; }
  const std::string& command() const { return command_.front(); }  ///< its name: "train"
  const Where& command_named_at() const { return command_named_at_; }
  CellSettings settings(std::uint64_t cell) const;
  /// Words after "busbar". "true" is a flag without a value, "false" no flag.
  std::vector<std::string> words(std::uint64_t cell) const;

 private:
  struct Axis {
    std::string key;
    std::vector<std::string> values;
  };
  /// A number drawn uniformly, or one of the values.
  struct Draw {
    std::string key;
    std::vector<std::string> values;
    double from = 0, to = 0, multiple_of = 0;  ///< 0: any real number
    std::string unit;
  };
  Status read(const YamlNode& root);
  static Result<Axis> read_axis(const std::string& key, const YamlNode& node);
  static Result<Draw> read_draw(const std::string& key, const YamlNode& node);
  std::string drawn(const Draw& draw, std::uint64_t sample) const;

  std::string text_;
  std::vector<std::string> command_;
  Where command_named_at_;
  std::vector<Axis> grid_;
  std::vector<CellSettings> list_;
  std::vector<Draw> random_;
  std::uint64_t samples_ = 1, seed_ = 0, cells_ = 0;
};

}  // namespace busbar::study
