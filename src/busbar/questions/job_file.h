// A job in the words of the program that trains: its launch script or a file of its flags, as keys of a scenario.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/base/result.h"
#include "busbar/spec/scenario.h"

namespace busbar::questions {

struct JobFile {
  std::string file;
  std::string program;                    ///< whose flags these are
  std::string model;                      ///< "{layers: 32, ...}", as --model takes it; empty: the user names one
  std::vector<std::string> set;           ///< "layout.tp=8", as --set takes it
  std::uint32_t gpus = 0;                 ///< that it starts; 0: it does not say
  std::vector<std::string> harmless;      ///< flags that change no step
  std::vector<std::string> unknown;       ///< flags that are not known and were left out
  std::vector<std::string> notes;         ///< what was taken for granted
  std::map<std::string, Where> places{};  ///< where "layout.tp" and "model.layers" stand, for messages
};
const Record& record_of(const JobFile*);

/// Whether the user gives "layout.tp" himself, so that the file need not.
using GivenKey = std::function<bool(const std::string& key)>;

/// How many GPUs the job has, if its file does not say; 0: not known.
using GpusOfJob = std::function<std::uint32_t()>;

/// Errors at line and flag: one that may change the answer and is not known, or that the script does not decide; a
/// value that is missing or no number; a key that a step needs and that neither the file nor the user gives.
Result<JobFile> read_job_file(const std::string& file, const GivenKey& given, const GpusOfJob& gpus = {});

/// The keys that the user's flags and settings give.
GivenKey given_keys(const spec::ScenarioFlags& flags, const spec::Overrides& overrides);

/// FILE of --from.
template <typename Asked>
Field from_field(std::string Asked::*from) {
  return Field("from", from, "",
               "model and layout of a job of Megatron-LM, Megatron-Bridge, NeMo, torchtitan, DeepSpeed, MaxText or "
               "PEFT: script, YAML, TOML, JSON or flags; flags override it")
      .takes("FILE")
      .of("Scenario");
}

/// What else a question with --from asks for.
struct JobAsk {
  std::string from;
  bool scenario = false;   ///< a file of ours gives model and layout, too: an error
  std::string cluster;     ///< the machine, if there is one
  std::uint32_t gpus = 0;  ///< of --gpus
};
/// Puts the keys of the job's file before those of --set, and its model among the flags.
Result<JobFile> take_job(const JobAsk& ask, spec::ScenarioFlags& flags, spec::Overrides& overrides);

/// An error about a key of --set that the file gave, at its place there.
Error at_job(Error error, const JobFile& job);

}  // namespace busbar::questions
