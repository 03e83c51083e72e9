// A job's file in the words of another program: refused with a message, or a model and a layout that are refused or
// read.
#include "busbar/base/check.h"
#include "busbar/questions/job_file.h"
#include "fuzz.h"
#include "input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  static fuzz::InputFile file;
  static const spec::Catalog catalog;
  file.write(data, size);
  const auto job = questions::read_job_file(file.path(), [](const std::string&) { return false; });
  if (!job.ok()) {
    BUSBAR_CHECK(!job.error().message.empty());
    return 0;
  }
  spec::ScenarioFlags flags;
  flags.cluster = "dgx-h100:8";
  flags.model = job->model;
  spec::Overrides overrides;
  overrides.set = job->set;
  const auto scenario = spec::scenario_from_flags(flags, overrides, catalog);
  if (!scenario.ok()) {
    BUSBAR_CHECK(!scenario.error().message.empty());
    return 0;
  }
  workload::resolve_layout(scenario->layout, scenario->model, 64).ok();
  return 0;
}
