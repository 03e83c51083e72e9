#include "busbar/cli/request_line.h"

#include <string_view>

#include "busbar/predict/rank_groups.h"

namespace busbar {
namespace {

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

class Line {
 public:
  explicit Line(std::string start) : text(std::move(start)) {}
  void add(const char* flag, const std::string& value, const std::string& without = "") {
    if (value != without) text += std::string(" ") + flag + " " + quoted(value);
  }
  void add(const char* flag, std::uint32_t value) { add(flag, std::to_string(value)); }
  void add_all(const char* flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) add(flag, value);
  }
  void add_machine(const std::string& engine, const PredictOptions& predict, const Overrides& overrides) {
    add("--engine", engine, "flow");
    add("--nccl", predict.nccl);
    add("--launch", predict.launch);
    add("--shortcuts-off", predict.shortcuts_off);
    add_all("--env", predict.env);
    if (overrides.nodes > 0) add("--nodes", overrides.nodes);
    add_all("--set", overrides.set);
    add_all("--degrade", overrides.degrade);
    add_all("--fail", overrides.fail);
    add("--gpu", overrides.gpu);
    add("--gpu-memory-rate", overrides.gpu_memory_rate);
    add("--catalog", overrides.catalog);
  }
  std::string text;
};

}  // namespace

std::string request_line(const CollectiveRequest& r) {
  const std::string size = std::to_string(count(r.call.bytes));
  Line out("busbar collective " + quoted(r.cluster) + " " + name_of(r.call.op) + " -b " + size + " -e " + size);
  out.add_all("--ranks", rank_groups_text(r.call.groups));
  out.add("--root", std::to_string(r.call.root), "0");
  out.add("--algorithm", r.call.algorithm, "auto");
  out.add("--protocol", name_of(r.call.protocol), "auto");
  out.add_machine(r.engine, r.predict, r.overrides);
  return out.text;
}

std::string request_line(const StepQuestion& q) {
  const LayoutFlags& d = q.scenario.degrees;
  Line out("busbar train --cluster " + quoted(q.scenario.cluster) + " --model " + quoted(q.scenario.model));
  out.add("--framework", q.scenario.framework);
  const std::pair<const char*, const std::optional<std::int64_t>&> numbers[] = {{"--tp", d.tp},
                                                                                {"--pp", d.pp},
                                                                                {"--vpp", d.vpp},
                                                                                {"--dp", d.dp},
                                                                                {"--cp", d.cp},
                                                                                {"--ep", d.ep},
                                                                                {"--seq", d.seq},
                                                                                {"--zero", d.zero},
                                                                                {"--micro-batch", d.micro_batch},
                                                                                {"--global-batch", d.global_batch}};
  for (const auto& [flag, value] : numbers)
    if (value) out.add(flag, std::to_string(*value));
  out.add("--precision", d.precision.value_or(""));
  out.add("--recompute", d.recompute.value_or(""));
  out.add_machine(q.engine, q.predict, q.overrides);
  return out.text;
}

std::string layout_flags(const LayoutSpec& l) {
  Line out("");
  const std::pair<const char*, std::uint32_t> degrees[] = {{"--tp", l.tp},    {"--pp", l.pp}, {"--vpp", l.vpp},
                                                           {"--dp", l.dp},    {"--cp", l.cp}, {"--ep", l.ep},
                                                           {"--zero", l.zero}};
  for (const auto& [flag, value] : degrees) out.add(flag, value);
  out.add("--micro-batch", l.micro_batch);
  out.add("--recompute", name_of(l.recompute));
  out.add("--set", std::string("layout.schedule=") + name_of(l.schedule), "layout.schedule=1f1b");
  if (l.rank_order != kTpCpDpPp) out.add("--set", "layout.rank_order=" + name_of(l.rank_order));
  if (l.offload_optimizer || l.offload_activations)
    out.add("--offload", !l.offload_activations ? "optimizer" : l.offload_optimizer ? "both" : "activations");
  return out.text.substr(1);
}

std::string request_line(const StepRequest& r, const LayoutSpec& l) {
  Line out("busbar train --cluster " + quoted(r.cluster) + " --model " + quoted(r.model));
  out.add("--layout", r.layout);
  out.text += " " + layout_flags(l);
  out.add("--seq", l.seq);
  out.add("--global-batch", l.global_batch);
  out.add("--precision", name_of(l.precision));
  if (r.gpus > 0) out.add("--gpus", r.gpus);
  out.add_machine(r.engine, r.predict, r.overrides);
  return out.text;
}

}  // namespace busbar
