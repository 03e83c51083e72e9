#include "busbar/cli/step_ask.h"

namespace busbar {
namespace {

thread_local KeptMachines* lent = nullptr;

}  // namespace

KeptMachines* lent_machines() { return lent; }

LentMachines::LentMachines(KeptMachines& machines) { lent = &machines; }
LentMachines::~LentMachines() { lent = nullptr; }

}  // namespace busbar
