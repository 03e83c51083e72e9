#include "busbar/predict/predict_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "busbar/nccl/environment.h"
#include "busbar/predict/launch.h"

namespace busbar::predict {

namespace {

/// Turns off what `words` names, with '-' for blanks.
Status turn_off(const std::string& words, Shortcuts& shortcuts) {
  if (words == "all") {
    shortcuts.on = 0;
    return {};
  }
  std::istringstream in(words);
  for (std::string word; std::getline(in, word, ',');) {
    const std::uint64_t before = shortcuts.on;
    for (std::uint32_t s = 0; s < kShortcutCount; ++s) {
      std::string name = name_of(static_cast<Shortcut>(s));
      std::replace(name.begin(), name.end(), ' ', '-');
      if (name == word) shortcuts = shortcuts.without({static_cast<Shortcut>(s)});
    }
    if (shortcuts.on == before)
      return invalid(
          fmt::format("'{}' is no shortcut that is on; docs/models/shortcuts.md names them, as in "
                      "call-images,bundles",
                      word));
  }
  return {};
}

}  // namespace

Status read_predict_options(const PredictOptions& o, const spec::Catalog& catalog, PredictPolicy& policy) {
  const auto of_flag = [](Error error, const char* flag) {
    error.where = {"", 0, 0, flag};
    return error;
  };
  nccl::NcclSettings ignored;
  for (const std::string& variable : o.env)
    if (const Status read = nccl::parse_nccl_setting(variable, ignored); !read.ok())
      return of_flag(read.error(), "--env");
  policy.env = o.env;
  if (!o.nccl.empty()) {
    const Result<nccl::NcclVersion> version = nccl::parse_nccl_version(o.nccl);
    if (!version.ok()) return of_flag(version.error(), "--nccl");
    policy.nccl = *version;
  }
  if (!o.registration.empty()) {
    const Result<nccl::Registration> registration = nccl::parse_registration(o.registration);
    if (!registration.ok()) return of_flag(registration.error(), "--register");
    policy.registration = *registration;
  }
  if (const Status off = turn_off(o.shortcuts_off, policy.shortcuts); !off.ok())
    return of_flag(off.error(), "--shortcuts-off");
  if (o.launch.empty()) return {};
  const Result<Launch> launch = launch_time(o.launch, catalog);
  if (!launch.ok()) return of_flag(launch.error(), "--launch");
  policy.launch = launch->before;
  policy.launch_mode = o.launch;
  policy.host_per_gpu = launch->per_gpu;
  return {};
}

}  // namespace busbar::predict
