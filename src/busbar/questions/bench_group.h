// The processes of `bench` on several hosts: who this one is, and where the others are.
#pragma once

#include <memory>
#include <string>

#include "busbar/questions/bench_question.h"
#include "busbar/runtime/host_group.h"
#include "busbar/study/peers.h"

namespace busbar::questions {

/// The ranks of one run.
struct BenchGroup {
  std::unique_ptr<study::Peers> mpi;          ///< of processes that mpirun started; null: others
  std::unique_ptr<runtime::HostGroup> hosts;  ///< null: all ranks are processes of this host
};

/// Meets the others if --hosts names them, or mpirun or srun started several processes: over MPI, PMIx, or as Slurm
/// says. `words`: what all must be told alike.
Result<BenchGroup> meet_bench_group(const BenchRequest& request, const std::string& words,
                                    const busbar::Context& context);

/// The lines of a file of hosts: an address per rank, in order. Errors: kInvalid names the line.
Result<std::vector<std::string>> parse_hosts(const std::string& text, const std::string& file);

/// The names in Slurm's short form, "node[01-03,7],login". Errors: kInvalid.
Result<std::vector<std::string>> expand_nodes(const std::string& names);

/// Tasks per node in Slurm's short form, "2(x3),1". Errors: kInvalid.
Result<std::vector<std::uint32_t>> expand_tasks(const std::string& tasks);

}  // namespace busbar::questions
