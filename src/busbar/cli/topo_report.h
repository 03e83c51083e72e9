// The facts of `busbar topo`, and its output forms.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/topo_sharing.h"
#include "busbar/report/document.h"
#include "busbar/spec/cluster.h"
#include "busbar/topology/bisection.h"
#include "busbar/topology/cabling.h"
#include "busbar/topology/levels.h"
#include "busbar/topology/matrix.h"
#include "busbar/topology/tree_view.h"

namespace busbar {

/// The parts that the user requests.
struct TopoParts {
  bool levels = true, matrix = false, tree = false, all = false;
  bool pictures = false;  ///< for the page; drawing 100,000 GPUs takes longer than everything else
  BlockId block{};        ///< the block of matrix and tree
};

struct TopoFacts {
  std::vector<std::pair<std::string, std::uint32_t>> counts;  ///< "gpus", 8; in order
  std::vector<Level> levels;
  Bisection bisection;
  Bytes memory{0};
  ScaleUpDomain scale_up;
  SharedWays ways;            ///< of the node that was asked for
  std::vector<Cable> cables;  ///< of the network; empty without one
  CablingSums cabling;
};
TopoFacts topo_facts(const Cluster& cluster, BlockId node);

/// The largest model that fits the memory of a scale-up domain.
struct LargestModel {
  std::string what;
  double bytes_per_parameter = 0;
  double parameters = 0;
};
std::vector<LargestModel> largest_models(const ScaleUpDomain& domain);

Table level_table(const std::vector<Level>& levels);

/// Everything except `schema`, hash and run; with `parts.all` also devices, links and the matrix.
Json topo_json(const Cluster& cluster, const TopoFacts& facts, const TopoParts& parts);
Document topo_document(const Cluster& cluster, const TopoFacts& facts, const TopoParts& parts,
                       const std::string& typed);
/// The matrix in the form of `nvidia-smi topo -m`: tabs between cells, then the legends.
std::string matrix_text(const Topology& topology, const RelationMatrix& matrix);

}  // namespace busbar
