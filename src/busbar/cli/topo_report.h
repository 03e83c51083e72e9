// What `busbar topo` found, and its ways out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/report/document.h"
#include "busbar/spec/cluster.h"
#include "busbar/topology/bisection.h"
#include "busbar/topology/cabling.h"
#include "busbar/topology/levels.h"
#include "busbar/topology/matrix.h"
#include "busbar/topology/tree_view.h"

namespace busbar {

/// Which parts the user asked for.
struct TopoParts {
  bool levels = true, matrix = false, tree = false, all = false;
  bool pictures = false;  ///< the page wants them; drawing 100,000 GPUs takes longer than all the rest
  BlockId block{};        ///< the one that matrix and tree show
};

struct TopoFacts {
  std::vector<std::pair<std::string, std::uint32_t>> counts;  ///< "gpus", 8; in order
  std::vector<Level> levels;
  Bisection bisection;
  Bytes memory{0};
  ScaleUpDomain scale_up;
  std::vector<Cable> cables;  ///< of the network; empty where there is none
  CablingSums cabling;
};
TopoFacts topo_facts(const Cluster& cluster);

/// A model as large as the memory of a scale-up domain allows.
struct LargestModel {
  std::string what;
  double bytes_per_parameter = 0;
  double parameters = 0;
};
std::vector<LargestModel> largest_models(const ScaleUpDomain& domain);

Table level_table(const std::vector<Level>& levels);

/// Everything but `schema`, hash and run; devices, links and the matrix where `parts.all`.
Json topo_json(const Cluster& cluster, const TopoFacts& facts, const TopoParts& parts);
Document topo_document(const Cluster& cluster, const TopoFacts& facts, const TopoParts& parts,
                       const std::string& typed);
/// The matrix as `nvidia-smi topo -m` lays it out: tabs between cells, then the legends.
std::string matrix_text(const Topology& topology, const RelationMatrix& matrix);

}  // namespace busbar
