// The machine of a question: how it is named, and what is changed about it.
#pragma once

#include <string>

#include "busbar/base/record.h"
#include "busbar/spec/cluster.h"

namespace busbar::spec {

const Record& record_of(const Overrides*);

}  // namespace busbar::spec

namespace busbar::questions {

/// The field of a machine, which every question about one has first: a word and a flag.
template <typename Asked>
Field cluster_field(std::string Asked::*cluster, bool required = true) {
  Field f = Field("cluster", cluster, "", "the machine: preset, NAME:N or file; also as the argument CLUSTER")
                .takes("CLUSTER")
                .of("Machine")
                .as_word(Field::Word::kAlso,
                         "preset (dgx-h100), NAME:N (N nodes on their default fabric) or a file (YAML, NCCL topology "
                         "XML, hwloc XML, nvidia-smi matrix); also --cluster");
  f.required = required;
  f.such_as =
      "; such as dgx-h100, dgx-b200:64, gb200-nvl72, mi300x-8 or rtx4090-pcie; 'busbar catalog nodes' lists all";
  return f;
}

/// "--catalog" of a question without a machine.
template <typename Asked>
Field catalog_field(std::string Asked::*catalog) {
  return Field("catalog", catalog, "", "read product data from DIR before $BUSBAR_CATALOG and the built-in files")
      .takes("DIR")
      .of("Machine")
      .undecided();
}

/// "--engine" of a question that fluids or packets may answer.
enum class Engines : std::uint8_t { kFluids, kAll };
template <typename Asked>
Field engine_field(std::string Asked::*engine, Engines engines) {
  const bool all = engines == Engines::kAll;
  return Field("engine", engine, "", all ? "analytic, flow (default) or packet" : "flow (default) or analytic")
      .takes("NAME")
      .of("Machine")
      .among(all ? std::vector<std::string>{"analytic", "flow", "packet"}
                 : std::vector<std::string>{"analytic", "flow"});
}

/// "--explain" of a question whose answer can say more.
template <typename Asked>
Field explain_field(bool Asked::*explain) {
  return Field("explain", explain, "", "show the gain from improving each kind of link").of("Output").undecided();
}

}  // namespace busbar::questions
