// The flags of a job while they become keys of a scenario.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/questions/job_file.h"

namespace busbar::questions {

/// One flag with its values, as it stands in the file.
struct JobFlag {
  std::string name;  ///< with hyphens, without the first two
  std::vector<std::string> values;
  int line = 0;
  std::string undecided;      ///< why it is not known whether, or with which value, it counts; empty: it does
  int condition = 0;          ///< line that decides what the next has; 0: none here
  std::string left_out = {};  ///< "$@": what stands after the values and is not known
};

inline constexpr const char* kJobGpus = "layout.gpus";  ///< of the keys the one that is no key of a layout here

class JobKeys {
 public:
  JobKeys(JobFile& job, const GivenKey& given, const GpusOfJob& gpus) : job_(job), given_(given), gpus_(gpus) {}

  /// The flags that no row of flag_words.h explains, by name.
  std::map<std::string, JobFlag> others;

  std::string script;  ///< "pretrain_gpt.py"; empty: not known

  bool has(const std::string& key) const { return values_.contains(key); }
  /// Empty: it is not there.
  std::string word(const std::string& key) const;
  std::optional<std::int64_t> number(const std::string& key) const;
  bool given(const std::string& key) const { return given_(key); }
  /// Whether the user names a model, so that the file need not.
  bool has_model() const { return given_("model"); }
  void set(const std::string& key, const std::string& value, const Where& where = {});
  void set_unless(const std::string& key, const std::string& value) {
    if (!has(key)) set(key, value);
  }
  /// A model of the catalogue instead of one by its sizes.
  void set_model(const std::string& name) { job_.model = name; }
  /// How many replicas of TP x PP x CP ranks the GPUs of the job hold; 0: that is not known.
  std::int64_t replicas() const;
  std::string stem() const;  ///< of the file's name, as the name of a model
  void remove(const std::string& key) { values_.erase(key); }
  void note(std::string text) { job_.notes.push_back(std::move(text)); }

  /// Takes a flag out of `others`; nothing: it is not there.
  std::optional<JobFlag> take(const std::string& name);
  Where file() const { return {job_.file, 0, 0, ""}; }
  Where place(const JobFlag& flag) const { return {job_.file, flag.line, 0, "--" + flag.name}; }
  /// Its only value as a whole number above 0.
  Result<std::int64_t> count_of(const JobFlag& flag) const;
  Error missing(const std::string& flag, const std::string& ours) const;

  void finish();

 private:
  std::string model_text() const;

  JobFile& job_;
  const GivenKey& given_;
  const GpusOfJob& gpus_;
  std::map<std::string, std::string> values_;
};

/// Whether `name` is in one of the tables ("optimizer."), or one of the keys.
bool is_listed(std::string_view name, std::span<const std::string_view> tables, std::span<const std::string_view> keys);

/// What flags of one program mean together, and what holds where a flag is not given.
struct JobProgram {
  const char* name;
  Status (*complete)(JobKeys& keys);
  bool (*harmless)(const std::string& name);  ///< whether a flag changes no step
};
JobProgram megatron_job();
JobProgram torchtitan_job();
JobProgram deepspeed_job();
JobProgram maxtext_job();

}  // namespace busbar::questions
