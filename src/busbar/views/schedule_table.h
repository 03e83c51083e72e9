// Schedules and messages from files, timed on a machine.
#pragma once

#include <vector>

#include "busbar/questions/schedule_times.h"
#include "busbar/report/document.h"

namespace busbar {

Table schedule_table(const ImportedSchedule& schedule, const std::vector<ScheduleRow>& rows, const Cluster& cluster);
Facts messages_facts(const questions::MessagesResult& result, const Topology& topology);

}  // namespace busbar
