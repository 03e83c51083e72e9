#include "busbar/workload/internal/program_writer.h"

#include <algorithm>
#include <utility>

#include "busbar/base/check.h"

namespace busbar::workload {
namespace {

std::vector<std::string> label_texts() {
  std::vector<std::string> t(static_cast<std::size_t>(Label::kCount));
  const auto set = [&](Label l, const char* text) { t[static_cast<std::size_t>(l)] = text; };
  set(Label::kEmbedding, "embedding");
  set(Label::kNorm, "norm");
  set(Label::kAttention, "attention");
  set(Label::kMlp, "mlp");
  set(Label::kHead, "logits");
  set(Label::kLoss, "loss");
  set(Label::kEmbeddingBack, "embedding backward");
  set(Label::kNormBack, "norm backward");
  set(Label::kAttentionBack, "attention backward");
  set(Label::kAttentionInput, "attention input gradient");
  set(Label::kAttentionWeights, "attention weight gradient");
  set(Label::kMlpBack, "mlp backward");
  set(Label::kMlpInput, "mlp input gradient");
  set(Label::kMlpWeights, "mlp weight gradient");
  set(Label::kHeadBack, "loss backward");
  set(Label::kHeadInput, "logits input gradient");
  set(Label::kHeadWeights, "logits weight gradient");
  set(Label::kGatherAttention, "gather attention input");
  set(Label::kScatterAttention, "reduce attention output");
  set(Label::kGatherMlp, "gather mlp input");
  set(Label::kScatterMlp, "reduce mlp output");
  set(Label::kScatterEmbedding, "reduce embedding");
  set(Label::kGatherHead, "gather logits input");
  set(Label::kLossSum, "sum loss terms");
  set(Label::kGatherAttentionGradient, "gather attention gradient");
  set(Label::kRegatherAttention, "gather attention input again");
  set(Label::kScatterAttentionGradient, "reduce attention gradient");
  set(Label::kGatherMlpGradient, "gather mlp gradient");
  set(Label::kRegatherMlp, "gather mlp input again");
  set(Label::kScatterMlpGradient, "reduce mlp gradient");
  set(Label::kGatherEmbeddingGradient, "gather embedding gradient");
  set(Label::kRegatherHead, "gather logits input again");
  set(Label::kScatterHeadGradient, "reduce logits gradient");
  set(Label::kSendForward, "send activations");
  set(Label::kSendBackward, "send gradients");
  set(Label::kGatherParameters, "gather parameters");
  set(Label::kReduceGradients, "reduce gradients");
  set(Label::kTiedEmbedding, "reduce tied embedding");
  set(Label::kNormSum, "sum gradient norm");
  set(Label::kGradientNorm, "gradient norm");
  set(Label::kOptimizer, "optimizer");
  set(Label::kExchangeKeys, "exchange keys and values");
  set(Label::kGatherKeys, "gather keys and values");
  set(Label::kScatterKeys, "reduce key and value gradients");
  set(Label::kExchangeHeads, "exchange queries, keys and values");
  set(Label::kExchangeOutput, "exchange attention output");
  set(Label::kSpreadGradients, "reduce gradients over copies");
  set(Label::kCompress, "compress gradients");
  set(Label::kAttentionAgain, "attention again");
  set(Label::kMlpAgain, "mlp again");
  set(Label::kRoute, "route tokens");
  set(Label::kDispatch, "dispatch tokens");
  set(Label::kExperts, "experts");
  set(Label::kCombine, "combine tokens");
  set(Label::kCollect, "sum expert outputs");
  set(Label::kCollectBack, "sum of expert outputs backward");
  set(Label::kDispatchGradient, "dispatch output gradients");
  set(Label::kExpertsBack, "experts backward");
  set(Label::kExpertWeights, "expert weight gradient");
  set(Label::kCombineGradient, "combine input gradients");
  set(Label::kRouteBack, "route backward");
  set(Label::kGatherTokens, "gather expert input");
  set(Label::kScatterTokens, "reduce expert output");
  set(Label::kJoin, "join two hidden states");
  set(Label::kJoinBack, "join two hidden states backward");
  set(Label::kJoinWeights, "join weight gradient");
  set(Label::kOffload, "move activations to the host");
  set(Label::kFetch, "fetch activations from the host");
  set(Label::kShardCopies, "copy shards");
  set(Label::kGatherMomenta, "gather momenta");
  set(Label::kOuterExchange, "exchange changes between groups");
  return t;
}

}  // namespace

ProgramWriter::ProgramWriter(std::uint32_t promises, std::size_t expected_ops, bool passes)
    : passes_(passes), kept_(promises, kNone<program::OpId>) {
  program_.labels = label_texts();
  program_.ops.reserve(expected_ops);
  program_.deps.begin.reserve(expected_ops + 1);
  program_.deps.values.reserve(2 * expected_ops);
}

program::RoleId ProgramWriter::add_role(std::string name, collectives::GroupFamily ranks, std::uint32_t streams) {
  std::vector<std::string> names{"compute", "tp", "dp", "pp", "cp", "host", "ep"};
  names.resize(streams);
  program_.roles.push_back({std::move(name), std::move(names), std::move(ranks)});
  return static_cast<program::RoleId>(program_.roles.size() - 1);
}

program::CallId ProgramWriter::intern(const program::CollectiveCall& call) {
  auto& calls = program_.calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i] == call) return static_cast<program::CallId>(i);
  }
  calls.push_back(call);
  return static_cast<program::CallId>(calls.size() - 1);
}

program::OpId ProgramWriter::append(program::Op op, std::initializer_list<program::OpId> after) {
  const program::OpId id = next();
  op.micro_batch = micro_batch_;
  op.layer = layer_;
  program_.ops.push_back(op);
  for (const program::OpId a : after) {
    if (a != kNone<program::OpId>) program_.deps.values.push_back(a);
  }
  program_.deps.close_row();
  return id;
}

program::OpId ProgramWriter::delay(program::RoleId role, Label label, program::OpClass cls, Duration duration,
                                   std::initializer_list<program::OpId> after, StreamId stream) {
  program::Op op;
  op.kind = program::OpKind::kDelay;
  op.cls = cls;
  op.stream = static_cast<std::uint16_t>(stream);
  op.label = static_cast<std::uint16_t>(label);
  op.role = role;
  op.duration = duration;
  return append(op, after);
}

program::OpId ProgramWriter::collective(program::RoleId role, StreamId stream, Label label, program::OpClass cls,
                                        program::CallId call, std::initializer_list<program::OpId> after) {
  program::Op op;
  op.kind = program::OpKind::kCollective;
  op.cls = cls;
  op.stream = static_cast<std::uint16_t>(stream);
  op.label = static_cast<std::uint16_t>(label);
  op.role = role;
  op.call = call;
  return append(op, after);
}

void ProgramWriter::also_after(program::OpId op) {
  if (op == kNone<program::OpId>) return;
  program_.deps.values.push_back(op);
  ++program_.deps.begin.back();
}

void ProgramWriter::also_after(PendingTransfer promise) { also_after(promised(promise)); }

void ProgramWriter::set_position(std::uint32_t micro_batch, std::uint32_t layer) {
  micro_batch_ = static_cast<std::uint16_t>(micro_batch);
  layer_ = static_cast<std::uint16_t>(layer);
}

void ProgramWriter::begin_pass(std::span<const program::OpId> entry) {
  pass_begin_ = static_cast<std::uint32_t>(program_.ops.size());
  entry_.assign(entry.begin(), entry.end());
}

std::uint32_t ProgramWriter::end_pass() {
  const auto end = static_cast<std::uint32_t>(program_.ops.size());
  const std::uint32_t first = in_passes_ + pass_begin_;
  if (!passes_ || pass_begin_ == end) return kNoPass;
  program::Pass pass;
  std::vector<std::uint32_t> places;
  for (std::uint32_t i = pass_begin_; i < end; ++i) {
    if (program_.ops[i].role != program_.ops[pass_begin_].role) return kNoPass;
    for (const program::OpId dep : program_.deps.row(i)) {
      if (index(dep) >= first && (index(dep) & kPromiseBit) == 0) {
        pass.deps.values.push_back(static_cast<program::OpId>(index(dep) - first));
        continue;
      }
      const auto entry = static_cast<std::uint32_t>(std::find(entry_.begin(), entry_.end(), dep) - entry_.begin());
      if (entry == entry_.size()) return kNoPass;
      auto place = static_cast<std::uint32_t>(std::find(places.begin(), places.end(), entry) - places.begin());
      if (place == places.size()) places.push_back(entry);
      pass.deps.values.push_back(static_cast<program::OpId>(program::Pass::kOutside | place));
    }
    pass.deps.close_row();
  }
  if (places.size() > program::Program::kMostOutside) return kNoPass;
  const program::RoleId role = program_.ops[pass_begin_].role;
  pass.ops.assign(program_.ops.begin() + pass_begin_, program_.ops.end());
  for (program::Op& op : pass.ops) op.role = program::RoleId{}, op.micro_batch = 0;
  program_.ops.resize(pass_begin_);
  program_.deps.begin.resize(pass_begin_ + 1);
  program_.deps.values.resize(program_.deps.begin.back());
  program_.passes.push_back(std::move(pass));
  entry_of_.push_back(std::move(places));
  const auto number = static_cast<std::uint32_t>(program_.passes.size() - 1);
  use(number, role, entry_);
  return number;
}

void ProgramWriter::use(std::uint32_t pass, program::RoleId role, std::span<const program::OpId> entry) {
  program_.uses.push_back({pass, next(), role, micro_batch_});
  for (const std::uint32_t place : entry_of_[pass]) {
    BUSBAR_CHECK(entry[place] != kNone<program::OpId>) << "a pass is repeated without one of its dependencies";
    program_.outside.values.push_back(entry[place]);
  }
  program_.outside.close_row();
  in_passes_ += static_cast<std::uint32_t>(program_.passes[pass].ops.size());
}

program::OpId ProgramWriter::repeat_pass(std::uint32_t pass, program::RoleId role,
                                         std::span<const program::OpId> entry) {
  const program::OpId first = next();
  use(pass, role, entry);
  return first;
}

program::Program ProgramWriter::finish() && {
  const auto keep = [&](program::OpId& dep) {
    if ((index(dep) & kPromiseBit) == 0) return;
    dep = kept_[index(dep) & ~kPromiseBit];
    BUSBAR_CHECK(dep != kNone<program::OpId>) << "a transfer on which an operation depends was never written";
  };
  for (program::OpId& dep : program_.deps.values) keep(dep);
  for (program::OpId& dep : program_.outside.values) keep(dep);
  return std::move(program_);
}

}  // namespace busbar::workload
