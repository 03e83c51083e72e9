// The one measurement that would narrow the answer to another command line most.
#pragma once

#include <string>
#include <vector>

#include "busbar/accuracy/calibrate.h"
#include "busbar/base/record.h"
#include "busbar/questions/context.h"

namespace busbar::questions {

struct NextMeasurement {
  std::string command;  ///< of nccl-tests
  std::string ranks;    ///< that measured, as --ranks of calibrate takes them
  double before_percent = 0, after_percent = 0;
};
const Record& record_of(const NextMeasurement*);

/// The JSON of a line of `train` on `machine`. `flag`: where the line was given, for messages.
Result<Json> trained_answer(const std::string& line, const accuracy::ExpectOptions& machine, const Where& flag,
                            const Context& context);

/// For a line of `train`, whose machine is that of `machine`, after `fit`. The best first, at most three; none if
/// nothing waits for collectives. Errors: a line of another command, one that names a machine, one that fails.
Result<std::vector<NextMeasurement>> next_measurements(const std::string& line, const accuracy::ExpectOptions& machine,
                                                       const accuracy::Calibration& fit, const Context& context);

}  // namespace busbar::questions
