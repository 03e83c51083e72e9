#include "busbar/cli/packet_options.h"

#include <utility>

#include "busbar/cli/long_run.h"

namespace busbar {
namespace {

using questions::PacketExtras;
using questions::PacketRun;

std::vector<Flag> flags_of_packets(const Record& record, const std::vector<FlagTarget>& targets) {
  std::vector<Flag> out;
  for (const Field& f : record.fields()) {
    Flag flag{f.flag_names(), f.value, f.meaning, f.category, targets[out.size()], f.choices};
    flag.needs = f.needs.empty() ? "" : f.needs == "fault" ? "--fault" : "--engine packet";
    out.push_back(std::move(flag));
  }
  return out;
}

const Record& record_of_extras() { return record_of(static_cast<const PacketExtras*>(nullptr)); }
const Record& record_of_run() { return record_of(static_cast<const PacketRun*>(nullptr)); }

/// An error in a field of the request, as one in its flag.
Error in_packet_flag(Error error) {
  for (const Record* record : {&record_of_extras(), &record_of_run()})
    if (const Field* const f = record->find(error.where.path); f != nullptr && error.where.file.empty())
      error.where.path = f->flag_names();
  if (error.where.path == "seed") error.where.path = "--seed";
  return error;
}

}  // namespace

std::vector<Flag> packet_flags(PacketExtras& x) {
  return flags_of_packets(record_of_extras(),
                          {&x.cut_through, &x.background, &x.fault, &x.lanes, &x.threads, &x.reroute_after});
}

std::vector<Flag> packet_run_flags(std::string& transport, std::string& balance, double& patience_s) {
  return flags_of_packets(record_of_run(), {&transport, &balance, &patience_s});
}

Result<PacketOptions> read_packets(PacketRun& run, const PacketExtras& extras, std::optional<std::int64_t> seed,
                                   const Cluster& cluster, const Overrides& overrides) {
  questions::Context context;
  context.stop = LongRun::flag();
  context.notice = notice_on_stderr();
  Result<PacketOptions> out = packet_options_of(run, extras, seed, cluster, overrides, context);
  return out.ok() ? out : in_packet_flag(out.error());
}

std::function<void(const std::string&)> notice_on_stderr() {
  return [said = std::string()](const std::string& text) mutable {
    if (text == said) return;
    said = text;
    say(text);
  };
}

}  // namespace busbar
