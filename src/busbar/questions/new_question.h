// A new cluster file, from flags or from questions at a terminal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/questions/context.h"
#include "busbar/questions/question.h"
#include "busbar/spec/cluster.h"

namespace busbar::questions {

struct NewRequest {
  std::string file;
  std::optional<std::int64_t> servers;
  std::string gpu, node;
  std::optional<std::int64_t> gpus, nics;
  std::string fabric, network;
  std::optional<std::int64_t> leaf;
  std::optional<std::string> ratio;
  std::string name;
  bool force = false;
  std::string catalog;
};
const Record& record_of(const NewRequest*);

struct NewResult {
  std::string file, picture, board;
  std::uint64_t servers = 0, gpus = 0;
  std::string fabric, inputs_hash;
  std::vector<OutputFile> files;
  // For views only:
  std::shared_ptr<const spec::Cluster> cluster;  ///< what the file describes
};
const Record& record_of(const NewResult*);

/// What the request leaves open is asked at Context::prompt. The picture is left to the view.
Result<NewResult> answer(const NewRequest& request, const Context& context = {});

}  // namespace busbar::questions
