// What a caller lends to an answer.
#pragma once

#include "busbar/base/context.h"

namespace busbar {

class KeptMachines;

namespace questions {

struct Context : busbar::Context {
  KeptMachines* kept = nullptr;  ///< machines that are ready; null: none
};

}  // namespace questions
}  // namespace busbar
