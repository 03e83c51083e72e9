#include "busbar/cli/request_line.h"

#include <string_view>

#include "busbar/predict/rank_groups.h"

namespace busbar {
namespace {

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

}  // namespace

std::string request_line(const CollectiveRequest& r) {
  const std::string size = std::to_string(count(r.call.bytes));
  std::string out = "busbar collective " + quoted(r.cluster) + " " + name_of(r.call.op) + " -b " + size + " -e " + size;
  const auto add = [&](const char* flag, const std::string& value, const std::string& without = "") {
    if (value != without) out += std::string(" ") + flag + " " + quoted(value);
  };
  const auto add_all = [&](const char* flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) add(flag, value);
  };
  add_all("--ranks", rank_groups_text(r.call.groups));
  add("--root", std::to_string(r.call.root), "0");
  add("--algorithm", r.call.algorithm, "auto");
  add("--protocol", name_of(r.call.protocol), "auto");
  add("--engine", r.engine, "flow");
  add("--nccl", r.predict.nccl);
  add("--launch", r.predict.launch);
  add("--shortcuts-off", r.predict.shortcuts_off);
  add_all("--env", r.predict.env);
  add_all("--set", r.overrides.set);
  add_all("--degrade", r.overrides.degrade);
  add_all("--fail", r.overrides.fail);
  add("--gpu", r.overrides.gpu);
  add("--gpu-memory-rate", r.overrides.gpu_memory_rate);
  add("--catalog", r.overrides.catalog);
  return out;
}

}  // namespace busbar
