#include "busbar/cli/step_ask.h"

#include "busbar/cli/long_run.h"
#include "busbar/cli/packet_options.h"

namespace busbar {
namespace {

thread_local KeptMachines* lent = nullptr;

}  // namespace

void join_command(TrainAsk& ask) {
  ask.stop = LongRun::flag();
  ask.kept = lent;
  ask.notice = notice_on_stderr();
}

LentMachines::LentMachines(KeptMachines& machines) { lent = &machines; }
LentMachines::~LentMachines() { lent = nullptr; }

}  // namespace busbar
