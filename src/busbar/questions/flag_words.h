// Flags of other programs for what a flag of ours sets: one table for aliases, hints, pages and the writer of their
// flags.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace busbar::questions {

inline constexpr std::string_view kMegatron = "Megatron-LM", kTorchtitan = "torchtitan", kDeepSpeed = "DeepSpeed",
                                  kMaxText = "MaxText", kNemo = "NeMo", kBridge = "Megatron-Bridge";

/// One row: `theirs`, with this value or any, means `ours`. Rows that set the same flag to fixed values stand from weak
/// to strong: of several the last counts, as --fp8-format does with --bf16.
struct ForeignFlag {
  std::string_view program;          ///< "Megatron-LM"; empty: usual speech, a hint in the message that refuses it
  std::string_view name;             ///< as the program spells it, without dashes: "tensor-model-parallel-size"
  std::string_view ours;             ///< "--tp"
  std::string_view value = "*";      ///< of theirs; "*": any, which is also ours; "": it is a switch
  std::string_view our_value = "*";  ///< "*": theirs; "layout.expert_tp=*": theirs at the star
  bool takes_any() const { return value == "*"; }
  bool is_switch() const { return value.empty(); }
};

std::span<const ForeignFlag> foreign_flags();

/// The rows of a flag as typed, "--tensor_model_parallel_size", whose own flag is among `known`. Programs write '-' and
/// '_' alike.
std::vector<const ForeignFlag*> rows_of_word(std::string_view flag, const std::vector<std::string>& known);

/// Our value for theirs.
std::string our_value(const ForeignFlag& row, const std::string& theirs);

/// "--tensor-model-parallel-size": the flag of `program` that takes the value of `ours`, or empty.
std::string flag_of_program(std::string_view program, std::string_view ours);

/// "--cp-comm-type a2a": what sets `ours` to `our_value` in `program`, by its first row; empty: nothing does.
std::string words_of_program(std::string_view program, std::string_view ours, std::string_view our_value);

}  // namespace busbar::questions
