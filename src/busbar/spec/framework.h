// What a training framework does where a layout does not say: catalog/frameworks, by release.
//
//   BUSBAR_ASSIGN(const Framework f, Framework::open("nemo:24.09", where, catalog));
//   BUSBAR_ASSIGN(LayoutSpec base, f.with_defaults(model, given));
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/yaml.h"
#include "busbar/spec/catalog.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::spec {

/// Names of the files of catalog/frameworks.
std::vector<std::string> framework_names(const Catalog& catalog);

/// The catalogue name of the GPUs of a machine; called only where an entry depends on it.
using GpuName = std::function<Result<std::string>()>;

/// What a framework runs, as it says under `runs`: the values of a degree or word by name ("zero": "0,1"). What is not
/// there is not limited.
struct FrameworkRuns {
  std::string program;  ///< whose flags these are
  std::map<std::string, std::string> lists;
};

/// One framework in one release. An entry of its file holds `when` all its conditions do.
class Framework {
 public:
  /// `text`: NAME or NAME:RELEASE, with the name of a file or one of its aliases; the newest release if none is given.
  /// Errors at `where` list what is known.
  static Result<Framework> open(const std::string& text, const Where& where, const Catalog& catalog);

  const std::string& name() const { return name_; }
  const std::string& release() const { return release_; }  ///< empty: its file lists no releases

  /// Time of kernels against those of Megatron-Core; 1 if the file does not say. Where it falls from release to
  /// release, that of `release`, named by year and month; for an empty one that of the file's own.
  Result<double> kernel_time(const std::string& release) const;
  /// `given`, which decides the conditions, with the framework's defaults and the time of its kernels.
  Result<workload::LayoutSpec> with_defaults(const workload::ModelSpec& model, const workload::LayoutSpec& given) const;
  /// `base` with the first recipe that holds for `given`; without one, `base`.
  Result<workload::LayoutSpec> with_recipe(const workload::ModelSpec& model, const workload::LayoutSpec& given,
                                           const GpuName& gpu, workload::LayoutSpec base) const;
  /// `layout` with what words of the user mean in this framework: its `terms`.
  Result<workload::LayoutSpec> with_terms(const workload::ModelSpec& model, workload::LayoutSpec layout) const;
  /// Nothing: its file does not say what it runs.
  Result<std::optional<FrameworkRuns>> runs(const workload::ModelSpec& model) const;

 private:
  std::string name_, release_;
  std::vector<std::string> releases_;  ///< the oldest first
  std::vector<YamlDocument> files_;    ///< what it builds on first, then its own
};

/// "attention flash2, loss torch": the keys that differ, with their values in `after`.
std::string layout_changes(const workload::LayoutSpec& before, const workload::LayoutSpec& after);

}  // namespace busbar::spec
