// Writes cluster files of ours, with a comment on every key.
//
//   const std::string text = cluster_yaml("dgx-h100:4", {}).value();
//   const Cluster same = parse_cluster(text, "four.yaml").value();
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/spec/catalog.h"
#include "busbar/spec/cluster.h"

namespace busbar::spec {

/// What `name` means with `overrides`, as a file that names no other machine: the board and its fabric are written out.
/// Parts (links, GPUs, networks, protocols) stay names of the catalogue, with their figures as comments. Faults of
/// `overrides` are left out. Errors: those of load_cluster().
Result<std::string> cluster_yaml(std::string_view name, const Overrides& overrides);

/// A machine that was not read from a file of ours, device by device and link by link.
/// Errors: kUnsupported for several servers, and for links whose two directions differ.
Result<std::string> topology_yaml(const Cluster& cluster);

/// The answers from which a new file is made.
struct NewCluster {
  std::string name = "my-cluster";
  std::uint32_t servers = 1;
  std::string board = "dgx-h100";      ///< an entry of catalog/nodes
  std::optional<std::int64_t> gpus{};  ///< of a server; none: the board's own
  std::optional<std::int64_t> nics{};  ///< likewise
  std::string fabric{};                ///< a kind of fabric, an entry of catalog/fabrics, or empty: the board's own
  std::string network{};               ///< an entry of catalog/networks; empty: that of the board's own fabric
  std::optional<std::int64_t> leaf{};  ///< NIC ports per leaf; none: as many as the switch and the ratio give
  std::optional<double> ratio{};       ///< rate down / rate up of a leaf; none: the fabric's own
};

/// The commented file. Errors: kNotFound for names that are not in the catalogue.
Result<std::string> new_cluster_yaml(const NewCluster& wanted, const Catalog& catalog);

/// Entries of catalog/nodes whose GPUs are `gpu`, or of all GPUs for an empty name, as "dgx-h100" and "8 h100-sxm".
struct Board {
  std::string name;
  std::string gpu;
  std::uint32_t gpus = 0, nics = 0;
};
Result<std::vector<Board>> boards_with(std::string_view gpu, const Catalog& catalog);

}  // namespace busbar::spec
