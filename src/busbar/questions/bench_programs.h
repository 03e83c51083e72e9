// What `bench` executes and predicts at each size.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "busbar/formats/imported_schedule.h"
#include "busbar/formats/pair_matrix.h"
#include "busbar/predict/predictor.h"
#include "busbar/questions/bench_host.h"
#include "busbar/questions/bench_question.h"
#include "busbar/runtime/calibrating_runs.h"
#include "busbar/runtime/session.h"

namespace busbar::questions {

/// One size before it runs.
struct BenchSize {
  Bytes size{};
  std::string algorithm;
  std::shared_ptr<const runtime::Executable> program;
  std::shared_ptr<const runtime::Executable>
      in_place;                        ///< the same where input and output are one buffer; null: not run
  std::uint64_t unit_bytes = 0;        ///< of messages: of a chunk; 0: chunks are parts of the size
  std::optional<double> predicted_us;  ///< none: no prediction knows this
  std::string bound_by;
};

/// The request as read.
struct BenchCall {
  collectives::Collective op{};
  runtime::ElementType type{};
  runtime::Reduction reduction{};
  std::uint32_t ranks = 2;
  runtime::Transport transport{};
  formats::PairMatrix matrix;                         ///< of --pairs FILE; without counts: none
  std::optional<formats::ImportedSchedule> file;      ///< of --algorithm FILE
  std::optional<formats::ImportedMessages> messages;  ///< of --algorithm FILE.goal
  std::optional<runtime::Reference> reference;        ///< what rates of runs hold of the operation itself
};
/// `group`: ranks have met, or will. Error: kUnsupported, this host lacks its library.
Result<runtime::Transport> bench_transport(const BenchRequest& q, bool group);
/// `group`: ranks that met on several hosts; 0: none did.
Result<BenchCall> bench_call(const BenchRequest& q, std::uint32_t group);

/// The host at calls of this size: such that the prediction of the reference is what it took.
Result<BenchMachine> bench_host(const BenchCall& call, const runtime::RunRates& rates, Bytes size);
/// The same as a machine.
Result<std::unique_ptr<predict::Predictor>> bench_machine(const BenchCall& call, const runtime::RunRates& rates,
                                                          Bytes size);

/// The sizes that run: those of the request, or that of the file's messages or matrix.
Result<std::vector<Bytes>> bench_sizes(const BenchRequest& q, const BenchCall& call);

/// Machine and programs of one size. Errors: an algorithm that cannot build the operation.
Result<BenchSize> bench_size(const BenchRequest& q, const BenchCall& call, const runtime::RunRates& rates, Bytes size);

/// The name of this host, in letters that a file may hold.
std::string bench_host_name();

}  // namespace busbar::questions
