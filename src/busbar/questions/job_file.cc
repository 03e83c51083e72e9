#include "busbar/questions/job_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <utility>

#include "busbar/base/input.h"
#include "busbar/base/text.h"
#include "busbar/base/yaml.h"
#include "busbar/formats/launch_script.h"
#include "busbar/formats/toml_flags.h"
#include "busbar/questions/flag_words.h"
#include "busbar/questions/internal/bridge_job.h"
#include "busbar/questions/internal/job_keys.h"
#include "busbar/questions/internal/job_trained.h"
#include "busbar/questions/internal/maxtext_job.h"
#include "busbar/questions/internal/nemo_job.h"
#include "busbar/questions/step_request.h"
#include "busbar/step/machine.h"

namespace busbar::questions {

const Record& record_of(const JobFile*) {
  using J = JobFile;
  static const Record record("job", {{"file", &J::file, "", "that was read"},
                                     {"program", &J::program, "", "whose flags it has"},
                                     {"model", &J::model, "", "as --model takes it; empty: --model names one"},
                                     {"set", &J::set, "", "the layout, as --set takes it"},
                                     {"gpus", &J::gpus, "", "that it starts; 0: it does not say"},
                                     {"harmless", &J::harmless, "", "flags that change no step"},
                                     {"unknown", &J::unknown, "", "flags that are not known and were left out"},
                                     {"notes", &J::notes, "", "what was taken for granted"}});
  return record;
}

std::string JobKeys::word(const std::string& key) const {
  const auto at = values_.find(key);
  return at == values_.end() ? "" : at->second;
}

std::optional<std::int64_t> JobKeys::number(const std::string& key) const {
  std::int64_t n = 0;
  return is_number(word(key), n) ? std::optional(n) : std::nullopt;
}

void JobKeys::set(const std::string& key, const std::string& value, const Where& where) {
  values_[key] = value;
  if (where.line > 0) job_.places[key] = where;
}

std::int64_t JobKeys::replicas() const {
  std::int64_t ranks = 1;
  for (const char* key : {"layout.tp", "layout.pp", "layout.cp"}) {
    if (given(key)) return 0;  // its value is elsewhere
    ranks *= number(key).value_or(1);
  }
  const std::int64_t gpus = number(kJobGpus).value_or(gpus_ ? gpus_() : 0);
  return ranks < 1 || gpus % ranks != 0 ? 0 : gpus / ranks;
}

std::string JobKeys::stem() const {
  std::string out = std::filesystem::path(job_.file).stem().string();
  std::erase_if(out, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; });
  return out.empty() || std::isalpha(static_cast<unsigned char>(out[0])) == 0 ? "model-" + out : out;
}

std::optional<JobFlag> JobKeys::take(const std::string& name) {
  const auto at = others.find(name);
  if (at == others.end()) return std::nullopt;
  JobFlag flag = std::move(at->second);
  others.erase(at);
  return flag;
}

Result<std::int64_t> JobKeys::count_of(const JobFlag& flag) const {
  std::int64_t n = 0;
  if (flag.values.size() != 1 || !is_number(flag.values[0], n) || n < 1)
    return invalid("takes one whole number above 0", place(flag));
  return n;
}

Error JobKeys::missing(const std::string& flag, const std::string& ours) const {
  return invalid(fmt::format("--{} is missing; add it to the file, or give {}", flag, ours), {job_.file, 0, 0, ""});
}

void JobKeys::finish() {
  for (const auto& [key, value] : values_)
    if (key.starts_with("layout.") && key != kJobGpus && !given_(key)) job_.set.push_back(key + "=" + value);
  job_.gpus = static_cast<std::uint32_t>(number(kJobGpus).value_or(0));
  if (has_model()) job_.model.clear();
  if (!has_model() && job_.model.empty()) job_.model = model_text();
}

/// Keys of one inner map, "model.moe.experts", stand next to each other.
std::string JobKeys::model_text() const {
  std::string out, inner, open;
  const auto close = [&] {
    if (!open.empty()) append_word(out, fmt::format("{}: {{{}}}", open, inner));
    inner.clear();
    open.clear();
  };
  for (const auto& [key, value] : values_) {
    if (!key.starts_with("model.")) continue;
    const std::string name = key.substr(6), map = name.substr(0, name.find('.'));
    if (map != open) close();
    if (map == name) {
      append_word(out, fmt::format("{}: {}", name, value));
    } else {
      open = map;
      append_word(inner, fmt::format("{}: {}", name.substr(map.size() + 1), value));
    }
  }
  close();
  return "{" + out + "}";
}

bool is_listed(std::string_view name, std::span<const std::string_view> tables,
               std::span<const std::string_view> keys) {
  return std::any_of(tables.begin(), tables.end(), [&](std::string_view t) { return name.starts_with(t); }) ||
         std::find(keys.begin(), keys.end(), name) != keys.end();
}

namespace {

using JobWords = formats::ScriptCommand;

/// "tensor-model-parallel-size" of "--tensor_model_parallel_size=8"; empty: the word is no flag.
std::string flag_name(const std::string& word) {
  if (!word.starts_with("--") || word.size() < 3) return "";
  std::string name = lower(word.substr(2, std::min(word.find('='), word.size()) - 2));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

bool is_flag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0);
}

std::vector<const ForeignFlag*> job_rows(const std::string& name, std::string_view program) {
  std::vector<const ForeignFlag*> out;
  for (const ForeignFlag& row : foreign_flags())
    if (row.program == program && flag_name("--" + std::string(row.name)) == name) out.push_back(&row);
  return out;
}

/// Words in quotes that a shell gives to another one: "--fp8-format hybrid".
JobWords divided(const JobWords& words) {
  JobWords out;
  for (const formats::ScriptWord& w : words) {
    if (!w.unknown.empty() || w.text.find("--") == std::string::npos || w.text.find(' ') == std::string::npos) {
      out.push_back(w);
      continue;
    }
    for (const std::string_view part : split_at(w.text, ' ')) {
      if (part.empty()) continue;
      formats::ScriptWord one = w;
      one.text = std::string(part);
      std::erase_if(one.text, [](char c) { return c == '\'' || c == '"'; });
      out.push_back(std::move(one));
    }
  }
  return out;
}

std::vector<JobProgram> job_programs() { return {megatron_job(), torchtitan_job(), deepspeed_job(), maxtext_job()}; }

struct ChosenJob {
  JobWords words;
  std::optional<JobProgram> program;
  std::size_t known = 0;  ///< flags of the program among the words
};

/// The command with the most flags of one program.
Result<ChosenJob> choose_job(const std::vector<JobWords>& commands, const std::string& file) {
  ChosenJob best;
  for (const JobWords& command : commands) {
    JobWords words = divided(command);
    for (const JobProgram& program : job_programs()) {
      const auto known = static_cast<std::size_t>(std::count_if(words.begin(), words.end(), [&](const auto& w) {
        const std::string name = flag_name(w.text);
        return !name.empty() && !job_rows(name, program.name).empty();
      }));
      if (known > best.known) best = {words, program, known};
    }
  }
  if (!best.program)
    return invalid(
        "no flags of Megatron-LM, torchtitan, DeepSpeed or MaxText are here, and no configuration of NeMo or "
        "Megatron-Bridge; name a launch script or a file of flags",
        {file, 0, 0, ""});
  if (is_flag(best.words.front().text) && commands.size() > 1)
    for (const JobWords& command : commands)
      if (!is_flag(command.front().text))
        return invalid(fmt::format("'{}' is no flag; a file of flags has nothing else", command.front().text),
                       {file, command.front().line, 0, ""});
  return best;
}

/// The scalars of a map as flags: {"zero": {"stage": 2}} is "--zero.stage=2". Lists are left out.
void add_map(const YamlNode& map, const std::string& prefix, JobWords& out) {
  for (std::size_t i = 0; i < map.size(); ++i) {
    const YamlNode value = map.item(i);
    if (value.kind() == YamlNode::Kind::kMap) add_map(value, prefix + map.key(i) + ".", out);
    if (value.kind() == YamlNode::Kind::kScalar)
      out.push_back({prefix + map.key(i) + "=" + value.scalar(), value.where().line, "", 0});
  }
}

std::string undecided(const formats::ScriptWord& w) {
  if (!w.unknown.empty()) return fmt::format("'{}' is not known from this file", w.unknown);
  if (w.condition > 0) return fmt::format("line {} decides whether it counts, and that is not known here", w.condition);
  return "";
}

/// A word that is not known may be anything after a value: it is left out.
void add_value(const formats::ScriptWord& w, JobFlag& flag) {
  if (!w.unknown.empty() && !flag.values.empty()) {
    flag.left_out = w.unknown;
    flag.condition = w.condition;
    return;
  }
  flag.condition = w.condition;
  flag.values.push_back(w.unknown.empty() ? w.text : w.unknown);
  if (flag.undecided.empty()) flag.undecided = undecided(w);
}

/// Flags with the words that follow them.
std::vector<JobFlag> flags_of(const JobWords& words) {
  std::vector<JobFlag> out;
  for (const formats::ScriptWord& w : words) {
    const std::string name = w.unknown.empty() || w.text.find('=') != std::string::npos ? flag_name(w.text) : "";
    if (!name.empty()) {
      out.push_back({name, {}, w.line, undecided(w)});
      if (const std::size_t equals = w.text.find('='); equals != std::string::npos)
        out.back().values.push_back(w.text.substr(equals + 1));
    } else if (!out.empty() && !(w.unknown.empty() && is_flag(w.text))) {
      add_value(w, out.back());
    }
  }
  return out;
}

/// A name that speaks of what a step does.
bool may_matter(const std::string& name) {
  constexpr std::string_view kOfSteps[] = {
      "parallel", "recompute", "overlap",  "moe",  "expert",        "layer",    "hidden",
      "head",     "attention", "ffn",      "fsdp", "offload",       "pipeline", "fp8",
      "fp4",      "precision", "batch",    "seq",  "vocab",         "mamba",    "hybrid",
      "window",   "graph",     "kv",       "lora", "heterogeneous", "linear",   "checkpoint-activations",
      "shard",    "zero",      "compress", "relu", "glu",           "mtp"};
  return std::any_of(std::begin(kOfSteps), std::end(kOfSteps),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

/// "layout.tp" and "8" of our flag and its value.
std::pair<std::string, std::string> key_of(const ForeignFlag& row, const std::string& value) {
  if (row.ours == "--set") {
    const std::size_t equals = value.find('=');
    return {value.substr(0, equals), value.substr(equals + 1)};
  }
  if (row.ours == "--offload") return {"layout.offload." + value, "true"};
  std::string key(row.ours.substr(2));
  std::replace(key.begin(), key.end(), '-', '_');
  return {"layout." + key, value};
}

class JobReader {
 public:
  JobReader(JobFile& job, const JobProgram& program, const GivenKey& given, const GpusOfJob& gpus)
      : job_(job), program_(program), keys_(job, given, gpus) {}

  void set_script(std::string name) { keys_.script = std::move(name); }

  Status read(const std::vector<JobFlag>& flags) {
    for (const JobFlag& flag : flags) BUSBAR_RETURN_IF_ERROR(read_flag(flag));
    BUSBAR_RETURN_IF_ERROR(program_.complete(keys_));
    for (const auto& [name, flag] : keys_.others) {
      const bool known = program_.harmless(name);
      if (!known && may_matter(name))
        return invalid("is not known and may change the answer; delete it from the file if it does not",
                       keys_.place(flag));
      (known ? job_.harmless : job_.unknown).push_back("--" + name);
    }
    keys_.finish();
    return {};
  }

 private:
  Status read_flag(const JobFlag& flag) {
    const std::vector<const ForeignFlag*> rows = job_rows(flag.name, program_.name);
    if (rows.empty()) {
      if (!flag.left_out.empty()) BUSBAR_RETURN_IF_ERROR(leave_out(flag.left_out, flag));
      keys_.others[flag.name] = flag;
      return {};
    }
    const std::string first_key = key_of(*rows[0], std::string(rows[0]->our_value)).first;
    if (is_given(first_key)) return {};
    const bool is_switch = rows[0]->is_switch();
    const std::string value = flag.values.empty() ? "" : flag.values[0];
    if (value == "default" || value == "-1" || value == "-1.0" || (is_switch && lower(value) == "false"))
      return {};  // as if it were not there
    if (is_switch && !value.empty() && lower(value) != "true") BUSBAR_RETURN_IF_ERROR(leave_out(flag.values[0], flag));
    if (!flag.left_out.empty()) BUSBAR_RETURN_IF_ERROR(leave_out(flag.left_out, flag));
    if (!flag.undecided.empty() && !(is_switch && flag.undecided.starts_with("'")))
      return invalid(
          fmt::format("{}; write the value into the file, or give --set {}=VALUE", flag.undecided, first_key),
          keys_.place(flag));
    if (!is_switch && flag.values.size() != 1)
      return invalid(flag.values.empty() ? "a value is missing" : "takes one value", keys_.place(flag));
    return add(rows, is_switch ? "" : flag.values[0], flag);
  }

  /// A word that stands alone: flags of the caller, or some that the script sets only sometimes.
  Status leave_out(const std::string& word, const JobFlag& flag) {
    if (flag.condition > 0)
      return invalid(fmt::format("line {} decides what '{}' is, and that is not known here; write the flags that ran "
                                 "into a file",
                                 flag.condition, word),
                     {job_.file, flag.line, 0, ""});
    keys_.note(fmt::format("'{}' after --{} in line {} is not read", word, flag.name, flag.line));
    return {};
  }

  /// Whether the user gives a key himself, or the model that it is of.
  bool is_given(const std::string& key) const {
    return keys_.given(key) || (key.starts_with("model.") && keys_.has_model());
  }

  /// Of rows with fixed values for one key the last of the table counts; otherwise the last in the file.
  Status add(const std::vector<const ForeignFlag*>& rows, const std::string& theirs, const JobFlag& flag) {
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const ForeignFlag* r) { return r->takes_any() || r->value == theirs; });
    if (row == rows.end()) {
      std::string known;
      for (const ForeignFlag* r : rows) append_word(known, r->value);
      return invalid(fmt::format("'{}' is not one of {}", theirs, known), keys_.place(flag));
    }
    const auto [key, value] = key_of(**row, our_value(**row, theirs));
    double number = 0;
    if ((*row)->takes_any() && (*row)->ours != "--recompute" &&
        (!is_number(theirs, number) || !(number >= 0 && number < 1e12)))
      return invalid(fmt::format("'{}' is not a number", theirs), keys_.place(flag));
    if (!(*row)->takes_any()) {
      const auto before = fixed_.find(key);
      if (before != fixed_.end() && *row < before->second) return {};
      fixed_[key] = *row;
    }
    keys_.set(key, value, keys_.place(flag));
    return {};
  }

  JobFile& job_;
  const JobProgram& program_;
  JobKeys keys_;
  std::map<std::string, const ForeignFlag*> fixed_;
};

}  // namespace

GivenKey given_keys(const spec::ScenarioFlags& flags, const spec::Overrides& overrides) {
  std::set<std::string> keys;
  if (!flags.model.empty()) keys.insert("model");
  for (const Field& f : record_of(&flags.degrees).fields()) {
    const void* const at = f.at(const_cast<spec::LayoutFlags*>(&flags.degrees));
    const bool given = f.type == &type_of<std::optional<std::string>>()
                           ? static_cast<const std::optional<std::string>*>(at)->has_value()
                           : static_cast<const std::optional<std::int64_t>*>(at)->has_value();
    if (given) keys.insert("layout." + f.name);
  }
  for (const std::string& set : overrides.set) keys.insert(set.substr(0, set.find('=')));
  return [keys = std::move(keys)](const std::string& key) { return keys.contains(key); };
}

Error at_job(Error error, const JobFile& job) {
  const std::string& path = error.where.path;
  const bool of_model = error.where.file == "{...}";
  if (!of_model && (!error.where.file.empty() || !path.starts_with("--set "))) return error;
  const auto at = job.places.find(of_model ? "model." + path : "layout." + path.substr(6, path.find('[') - 6));
  if (at != job.places.end()) error.where = at->second;
  return error;
}

namespace {

/// GPUs of the machine that take part.
std::uint32_t gpus_of_job_machine(const JobAsk& ask, const spec::ScenarioFlags& flags, spec::Overrides overrides) {
  if (ask.gpus > 0 || ask.cluster.empty()) return ask.gpus;
  std::erase_if(overrides.set,
                [](const std::string& set) { return set.starts_with("layout.") || set.starts_with("model."); });
  const Result<spec::Cluster> machine = step::load_machine(ask.cluster, overrides);
  if (!machine.ok()) return 0;  // whoever loads it next says why
  const topology::Topology& t = machine->topology;
  const std::int64_t per_domain = flags.degrees.gpus_per_domain.value_or(0);
  return static_cast<std::uint32_t>(per_domain > 0 ? t.blocks().size() * per_domain : t.gpus().size());
}

}  // namespace

Result<JobFile> take_job(const JobAsk& ask, spec::ScenarioFlags& flags, spec::Overrides& overrides) {
  if (ask.scenario || !flags.layout.empty())
    return invalid("gives the model and the layout; leave out the scenario and --layout", {"", 0, 0, "from"});
  BUSBAR_ASSIGN(JobFile job, read_job_file(ask.from, given_keys(flags, overrides),
                                           [&] { return gpus_of_job_machine(ask, flags, overrides); }));
  if (!job.model.empty()) flags.model = job.model;
  overrides.set.insert(overrides.set.begin(), job.set.begin(), job.set.end());
  return job;
}

namespace {

/// What a file says, as commands of flags.
struct JobCommands {
  std::vector<JobWords> commands;
  std::string program;               ///< whose keys became flags of Megatron-LM; empty: none
  std::optional<JobProgram> only{};  ///< whose flags these are, whatever their names
};

/// Whose keys a text in YAML has.
enum class Configuration : std::uint8_t { kNemo, kBridge, kMaxText, kPeft, kJson, kNone };

Configuration configuration_of(const std::string& text) {
  if (is_nemo(text)) return Configuration::kNemo;
  if (is_bridge(text)) return Configuration::kBridge;
  if (is_maxtext(text)) return Configuration::kMaxText;
  if (is_peft(text)) return Configuration::kPeft;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{' ? Configuration::kJson : Configuration::kNone;
}

Result<JobCommands> read_configuration(Configuration keys, const std::string& text, const std::string& file) {
  BUSBAR_ASSIGN(const YamlDocument document, YamlDocument::parse(text, file));
  JobCommands out;
  JobWords words;
  if (keys == Configuration::kNemo) {
    BUSBAR_ASSIGN(words, nemo_words(document.root(), file));
    out.program = kNemo;
  } else if (keys == Configuration::kBridge) {
    BUSBAR_ASSIGN(words, bridge_words(document.root(), file));
    out.program = kBridge;
  } else if (keys == Configuration::kMaxText) {
    words = maxtext_words(document.root());
  } else if (keys == Configuration::kPeft) {
    words = peft_words(document.root());
    out.only = peft_job();
  } else {
    add_map(document.root(), "--", words);
  }
  if (!words.empty()) out.commands.push_back(std::move(words));
  return out;
}

/// Settings of Megatron-Bridge and MaxText, which have no hyphens, become flags.
Result<JobCommands> read_script(const std::string& text, const std::string& file) {
  JobCommands out;
  BUSBAR_ASSIGN(out.commands, formats::read_launch_script(text, file));
  for (JobWords& command : out.commands) {
    command = maxtext_command(command);
    BUSBAR_ASSIGN(std::optional<JobWords> flags, bridge_command(command, file));
    if (!flags) continue;
    command = std::move(*flags);
    out.program = kBridge;
  }
  return out;
}

Result<JobCommands> read_commands(const std::string& text, const std::string& file) {
  if (const Configuration keys = configuration_of(text); keys != Configuration::kNone)
    return read_configuration(keys, text, file);
  if (!formats::is_toml(text)) return read_script(text, file);
  JobCommands out;
  BUSBAR_ASSIGN(JobWords words, formats::read_toml_flags(text, file));
  if (!words.empty()) out.commands.push_back(std::move(words));
  return out;
}

}  // namespace

Result<JobFile> read_job_file(const std::string& file, const GivenKey& given, const GpusOfJob& gpus) {
  BUSBAR_ASSIGN(const std::string text, read_text(file));
  if (text.find('\0') != std::string::npos) return invalid("this is no text", {file, 0, 0, ""});
  BUSBAR_ASSIGN(const JobCommands read, read_commands(text, file));
  ChosenJob chosen;
  if (read.only && !read.commands.empty()) {
    chosen = {read.commands[0], read.only};
  } else {
    BUSBAR_ASSIGN(chosen, choose_job(read.commands, file));
  }
  JobFile job;
  job.file = file;
  job.program =
      read.program.empty() ? chosen.program->name : read.program + ", in the flags of Megatron-LM that its keys become";
  JobReader reader(job, *chosen.program, given, gpus);
  for (const formats::ScriptWord& w : chosen.words)
    if (w.text.ends_with(".py")) reader.set_script(std::filesystem::path(w.text).filename().string());
  BUSBAR_RETURN_IF_ERROR(reader.read(flags_of(chosen.words)));
  return job;
}

}  // namespace busbar::questions
