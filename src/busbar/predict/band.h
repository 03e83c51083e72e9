// How far a prediction can be trusted, and where that comes from.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/units.h"
#include "busbar/spec/catalog.h"
#include "busbar/spec/cluster.h"

namespace busbar {

struct Band {
  double low_percent = 0, high_percent = 0;  ///< the truth lies within (1 + low/100 .. 1 + high/100) of the prediction
  std::string basis;
  bool ideal = false;  ///< of a machine without software costs: nothing was measured, and there is no band
};

/// The same in a sentence for people, of "these times" or another `what`.
std::string words_of(const Band& band, const std::string& what = "these times");

/// What joins the GPUs of a machine: boards that are alike in it are predicted alike.
enum class JoinedBy : std::uint8_t { kSwitch, kMesh, kPcie };
const char* name_of(JoinedBy joined_by);  ///< "switch", "mesh" (links from GPU to GPU), "pcie"
/// By the links of the first GPU.
JoinedBy joined_by(const Topology& topology);

/// Errors that predictions had against measured tables: catalog/accuracy, which tools/write_accuracy.py writes. A band
/// holds nine tenths of what was measured on boards like the machine, at that size, over one node or several.
/// GPUs that were not measured get what boards had that were left out of the fit.
class AccuracyTable {
 public:
  static Result<AccuracyTable> load(const Catalog& catalog);
  /// Of a collective's time at one size.
  Band collective(const Cluster& cluster, Bytes size, bool several_nodes) const;
  /// Of a training step's time.
  Band training(const Cluster& cluster) const;
  /// Sizes from which on each band of collectives holds, ascending, the first 0.
  std::vector<Bytes> sizes() const;

 private:
  struct Errors {
    double low_percent = 0, high_percent = 0;
    std::int64_t configurations = 0;
  };
  struct SizeErrors {
    Bytes from{0};
    bool several_nodes = false;
    std::string of;  ///< GPU; of boards left out, what joins their GPUs
    Errors errors;
  };
  struct GpuErrors {
    std::string gpu;
    Errors errors;
  };
  Status read_collectives(const YamlNode& root);
  Status read_training(const YamlNode& root);

  static const SizeErrors* at(const std::vector<SizeErrors>& bands, const std::string& of, Bytes size,
                              bool several_nodes);
  static Status read_bands(const YamlNode& list, const char* of, std::vector<SizeErrors>& out);

  std::vector<SizeErrors> collectives_, collectives_left_out_;
  std::vector<GpuErrors> training_;
  Errors training_left_out_;
};

}  // namespace busbar
