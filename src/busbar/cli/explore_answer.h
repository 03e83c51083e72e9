// The replies of `busbar explore`.
#pragma once

#include "busbar/cli/explore_server.h"

namespace busbar {

/// "/": the page. "/answer?node=...": {"command", "status", "message", "result"}, the result being what this command
/// prints with --json, or null. "/report?node=...": the page that it writes with --html, to be saved.
LocalReply explore_answer(const LocalRequest& request);

}  // namespace busbar
