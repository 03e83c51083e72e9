// How accurate a prediction is, and the source of this figure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/units.h"
#include "busbar/program/measured_calls.h"
#include "busbar/spec/catalog.h"
#include "busbar/spec/cluster.h"

namespace busbar::predict {

struct Band {
  double low_percent = 0, high_percent = 0;  ///< measurements are (1 + low/100 .. 1 + high/100) of the prediction
  std::string basis;
  bool ideal = false;  ///< a machine without software costs: nothing was measured, and there is no band
  /// For training steps of one job in two layouts: 9 of 10 measured ratios of their times are within this many percent
  /// of the predicted ratio. Common errors cancel.
  double layouts_percent = 0;
  /// Of many layouts of one job: the fastest one is predicted to be at most this much slower than the best prediction.
  double tie_percent = 0;
  /// Of the measurements of sources left out, one source after another, the share that such a band of all other sources
  /// holds; 0: unknown.
  double held_percent = 0;
};

/// "0.94 to 1.15 times" for -6 % to +15 %.
std::string factor_words(double low_percent, double high_percent);
/// The band in a sentence; `at`: " at 1 GiB", or empty.
std::string words_of(const Band& band, const std::string& at = "");

/// The kind of the links between nodes: "infiniband" or "ethernet"; empty: none.
std::string network_kind(const topology::Topology& topology);
/// The kind of links between the GPUs of a machine. Boards with the same kind have the same accuracy.
enum class JoinedBy : std::uint8_t { kSwitch, kMesh, kPcie };
const char* name_of(JoinedBy joined_by);  ///< "switch", "mesh" (links from GPU to GPU), "pcie"
/// Determined by the links of the first GPU.
JoinedBy joined_by(const topology::Topology& topology);
/// Whether GPUs reach each other directly. Only where PCIe joins them does P2P off make a board another machine.
bool reaches_peers(const spec::Cluster& cluster);

/// As much narrower as measured calls of this machine narrow the spread of the time of `call`, nine tenths of it at
/// least. Without an effect of theirs, `band` as it is.
Band narrowed(const Band& band, const program::MeasuredCalls& measured, const program::CallTraits& call);

/// Errors of predictions against measured tables: catalog/accuracy, written by tools/write_accuracy.py. A band contains
/// nine tenths of the measurements on boards like the machine, at this size, on one node or several, with P2P on or
/// off, each predicted without its source: constants were fitted on the measurements of all others. GPUs without
/// measurements get the errors of boards that were left out of the fit.
class AccuracyTable {
 public:
  static Result<AccuracyTable> load(const spec::Catalog& catalog);
  /// For the time of a collective at one size; `launch`: one of launch_modes(), or empty.
  Band collective(const spec::Cluster& cluster, Bytes size, bool several_nodes, std::string_view launch = {}) const;
  /// For the time of a training step; `experts`: of a model with experts, whose errors are larger.
  Band training(const spec::Cluster& cluster, bool experts) const;
  /// The smallest size of each band of collectives, ascending; the first is 0.
  std::vector<Bytes> sizes() const;

 private:
  struct Errors {
    double low_percent = 0, high_percent = 0, held_percent = 0;
    std::int64_t configurations = 0, sources = 0;
  };
  struct SizeErrors {
    Bytes from{0};
    bool several_nodes = false, p2p = true;
    std::string of;         ///< the kind of links between GPUs; of `measured_` the GPU
    std::string network{};  ///< between nodes: "infiniband" or "ethernet"; empty: all
    std::string launch{};   ///< the mode; empty: all
    Errors errors{};
  };
  struct StepErrors {
    bool experts = false, known_clocks = true;
    Errors errors{};
  };
  Status read_collectives(const YamlNode& root);
  Status read_training(const YamlNode& root);

  /// The last band like `of` whose smallest size is at most `size`, of its launch mode if there is one; null: none.
  static const SizeErrors* at(const std::vector<SizeErrors>& bands, const SizeErrors& of, Bytes size);
  static Status read_bands(const YamlNode& list, const char* of, std::vector<SizeErrors>& out);

  std::vector<SizeErrors> measured_;  ///< GPUs, with the number of their configurations
  std::vector<SizeErrors> collectives_, collectives_left_out_;
  std::vector<StepErrors> training_;
  spec::Catalog catalog_;
  double layouts_percent_ = 0, tie_percent_ = 0;
};

}  // namespace busbar::predict
