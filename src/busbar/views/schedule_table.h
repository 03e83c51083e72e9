// Schedules and messages from files, timed on a machine.
#pragma once

#include <vector>

#include "busbar/questions/schedule_times.h"
#include "busbar/report/document.h"

namespace busbar::views {

report::Table schedule_table(const formats::ImportedSchedule& schedule, const std::vector<questions::ScheduleRow>& rows,
                             const spec::Cluster& cluster);
report::Facts messages_facts(const questions::MessagesResult& result, const topology::Topology& topology);

}  // namespace busbar::views
