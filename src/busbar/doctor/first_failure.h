// Which rank failed first.
#pragma once

#include <optional>
#include <string>

#include "busbar/doctor/evidence.h"

namespace busbar::doctor {

/// Who prints a line: "rank 3", where the log says which process and GPU has this rank, otherwise "n1:10 [3]", or
/// "line 12 of nccl.log".
std::string who_prints(const Fact& fact, const Evidence& evidence);

struct FirstFailure {
  std::string who, time;  ///< the time as written
  std::string file, text;
  int line = 0;
};

/// The earliest of the lines that state a failure or a warning that sound jobs do not print. Nothing unless lines of
/// two ranks or files have times of one shape, because nothing is to be ordered then.
std::optional<FirstFailure> first_failure(const Evidence& evidence);

}  // namespace busbar::doctor
