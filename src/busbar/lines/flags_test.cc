#include "busbar/lines/flags.h"

#include <gtest/gtest.h>

namespace busbar::lines {
namespace {

struct Typed {
  std::string cluster, op, engine = "flow";
  std::vector<std::string> set;
  std::uint32_t gpus = 0;
  double factor = 2;
  std::optional<std::int64_t> seed, of_cluster;
  bool json = false;
};

/// One command with a flag of each type.
std::vector<Command> table(Typed& t) {
  Command c;
  c.name = "run";
  c.positionals = {{"CLUSTER", "a machine", &t.cluster}, {"OP", "what", &t.op, false}};
  c.flags = {{"--cluster", "CLUSTER", "the same", "In", &t.cluster},
             {"--engine", "NAME", "which", "In", &t.engine, {"flow", "packet"}},
             {"--set", "K=V", "changes", "In", &t.set},
             {"-g,--gpus", "N", "how many", "In", &t.gpus},
             {"-f,--factor", "X", "step", "In", &t.factor, {}, "--set"},
             {"--seed", "N", "seed", "In", &t.seed, {}, "--engine packet", {"--json"}},
             {"--of-cluster", "N", "of it", "In", &t.of_cluster, {}, "--cluster"},
             {"--json", "", "JSON", "Out", &t.json}};
  return {c};
}

/// The error of a command line; empty: none.
std::string refusal(Typed& t, const std::vector<std::string>& args) {
  const std::vector<Command> commands = table(t);
  const Parsed parsed = parse_command_line(commands, args, "1.0");
  return parsed.command == nullptr ? parsed.print.substr(0, parsed.print.rfind(" (busbar")) : "";
}

TEST(Flags, StandAnywhereAndTakeOneValueEach) {
  Typed t;
  EXPECT_EQ(refusal(t, {"run", "--set", "a=1", "box", "--json", "--set=b=2", "-g4", "sum", "-f", "1.5"}), "");
  EXPECT_EQ(t.cluster, "box");
  EXPECT_EQ(t.op, "sum");
  EXPECT_EQ(t.set, (std::vector<std::string>{"a=1", "b=2"}));
  EXPECT_EQ(t.gpus, 4u);
  EXPECT_EQ(t.factor, 1.5);
  EXPECT_TRUE(t.json);
}

TEST(Flags, FillPositionalsByName) {
  Typed t;
  EXPECT_EQ(refusal(t, {"run", "sum", "--cluster", "box"}), "");
  EXPECT_EQ(t.cluster, "box");
  EXPECT_EQ(t.op, "sum");
}

TEST(Flags, EndWithTwoDashesAndOneDashIsAWord) {
  Typed t;
  EXPECT_EQ(refusal(t, {"run", "-", "--", "--json"}), "");
  EXPECT_EQ(t.cluster, "-");
  EXPECT_EQ(t.op, "--json");
  EXPECT_FALSE(t.json);
}

TEST(Flags, ErrorsNameTheFlag) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"run"}, "CLUSTER is missing: a machine"},
      {{"run", "a", "b", "c"}, "unexpected argument 'c'; usage: busbar run CLUSTER [OP] [OPTION]..."},
      {{"run", "a", "--set"}, "--set: a value is missing; write --set K=V"},
      {{"run", "a", "--set", "--json"}, "--set: a value is missing before '--json'; write --set K=V"},
      {{"run", "a", "--set", "-g"}, "--set: a value is missing before '-g'; write --set K=V"},
      {{"run", "a", "--json=1"}, "--json: takes no value"},
      {{"run", "a", "-g", "1", "--gpus=2"}, "--gpus: is given twice; leave one out"},
      {{"run", "a", "-g", "4294967296"}, "-g: '4294967296' is not a whole number from 0 to 4294967295"},
      {{"run", "a", "-g", "4x"}, "-g: '4x' is not a whole number from 0 to 4294967295"},
      {{"run", "a", "-f", "nan"}, "-f: 'nan' is not a number of 0 or more"},
      {{"run", "a", "-f", "inf"}, "-f: 'inf' is not a number of 0 or more"},
      {{"run", "a", "-f", "-1"}, "-f: '-1' is not a number of 0 or more"},
      {{"run", "a", "--engine", "packets"},
       "--engine: 'packets' is not one of flow and packet; did you mean "
       "'packet'?"},
      {{"run", "a", "--jsn"}, "unknown flag '--jsn'; did you mean '--json'?"},
      {{"run", "a", "--num_gpus", "8"}, "unknown flag '--num_gpus'; did you mean '-g'?"},
      {{"run", "a", "--tensor-model-parallel-size", "8"}, "unknown flag '--tensor-model-parallel-size'"},
      {{"rnu"}, "there is no command 'rnu'; did you mean 'run'?"}};
  for (const auto& [args, text] : cases) {
    Typed t;
    EXPECT_EQ(refusal(t, args), text);
  }
}

TEST(Flags, AreRefusedWhereTheyChangeNothing) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"run", "a", "-f", "3"}, "-f: has no effect without --set; add that, or leave this out"},
      {{"run", "a", "-f", "3", "--set", "x=1"}, ""},
      {{"run", "a", "--seed", "-3"},
       "--seed: has no effect on the flow engine; add --engine packet, or leave this out"},
      {{"run", "a", "--seed", "-3", "--engine", "packet"}, ""},
      {{"run", "a", "--json", "--seed", "1", "--engine=packet"}, "--seed: has no effect with --json; leave it out"},
      {{"run", "a", "--of-cluster", "1"}, ""}};  // a word can be the value that a flag needs
  for (const auto& [args, text] : cases) {
    Typed t;
    EXPECT_EQ(refusal(t, args), text);
  }
  EXPECT_EQ(help_of({"--x", "", "does", "In", static_cast<bool*>(nullptr), {}, "--y"}), "with --y: does");
}

TEST(Flags, HelpIsAFlagAndACommand) {
  Typed t;
  const std::vector<Command> commands = table(t);
  const auto parsed = [&](std::vector<std::string> args) { return parse_command_line(commands, args, "1.0"); };
  for (const std::vector<std::string>& args :
       {{"help", "run"}, {"run", "--help"}, std::vector<std::string>{"run", "-h"}}) {
    EXPECT_TRUE(parsed(args).help);
    EXPECT_EQ(parsed(args).of, &commands[0]);
  }
  for (const std::vector<std::string>& args : {{"help"}, {"--help"}, {"-h"}, std::vector<std::string>{}}) {
    EXPECT_TRUE(parsed(args).help);
    EXPECT_EQ(parsed(args).of, nullptr);
  }
  EXPECT_EQ(parsed({"--version"}).print, "1.0\n");
}

/// The settings of a layout that other programs have flags for.
struct Layout {
  std::optional<std::int64_t> tp, zero;
  std::optional<std::string> precision;
  std::vector<std::string> set;
};

std::string layout_refusal(Layout& l, const std::vector<std::string>& args) {
  Command c;
  c.name = "run";
  c.flags = {{"--tp", "N", "degree", "In", &l.tp},
             {"--zero", "0-3", "shards", "In", &l.zero, {"0", "1", "2", "3"}},
             {"--precision", "NAME", "kind", "In", &l.precision, {"bf16", "fp16", "fp8", "fp4"}},
             {"--set", "K=V", "changes", "In", &l.set}};
  std::vector<std::string> words{"run"};
  words.insert(words.end(), args.begin(), args.end());
  const Parsed parsed = parse_command_line({c}, words, "1.0");
  return parsed.command == nullptr && parsed.status != 0 ? parsed.print.substr(0, parsed.print.rfind(" (busbar")) : "";
}

TEST(ForeignFlags, MeanOurs) {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"--tensor-model-parallel-size", "8"},
           {"--tensor_model_parallel_size=8"},
           {"--parallelism.tensor_parallel_degree", "8"},
       }) {
    Layout l;
    EXPECT_EQ(layout_refusal(l, args), "") << args[0];
    EXPECT_EQ(l.tp, 8) << args[0];
  }
  Layout l;
  EXPECT_EQ(layout_refusal(l, {"--fsdp", "--sequence-parallel", "--num-layers-per-virtual-pipeline-stage", "5"}), "");
  EXPECT_EQ(l.zero, 3);
  EXPECT_EQ(l.set, (std::vector<std::string>{"layout.sequence_parallel=true", "layout.layers_per_chunk=5"}));
}

TEST(ForeignFlags, TheStrongerOfTwoCountsInAnyOrder) {
  const std::vector<std::string> bf16{"--bf16"}, fp8{"--fp8-format", "hybrid"};
  for (const bool swapped : {false, true}) {
    std::vector<std::string> args = swapped ? fp8 : bf16;
    args.insert(args.end(), (swapped ? bf16 : fp8).begin(), (swapped ? bf16 : fp8).end());
    Layout l;
    EXPECT_EQ(layout_refusal(l, args), "");
    EXPECT_EQ(l.precision, "fp8");
  }
  Layout l;
  EXPECT_EQ(layout_refusal(l, {"--use-distributed-optimizer", "--use-megatron-fsdp",
                               "--data-parallel-sharding-strategy", "optim_grads_params"}),
            "");
  EXPECT_EQ(l.zero, 3);
}

TEST(ForeignFlags, AreRefusedAsOursAre) {
  Layout l;
  EXPECT_EQ(layout_refusal(l, {"--tensor-model-parallel-size", "x"}),
            "--tensor-model-parallel-size: 'x' is not a whole number");
  EXPECT_EQ(layout_refusal(l, {"--fp8-format", "e5m2"}), "--fp8-format: 'e5m2' is not one of hybrid, e4m3");
  EXPECT_EQ(layout_refusal(l, {"--fsdp=3"}), "--fsdp: takes no value");
  EXPECT_EQ(layout_refusal(l, {"--mbs", "1"}), "unknown flag '--mbs'") << "no flag of ours sets it here";
  EXPECT_EQ(layout_refusal(l, {"--dtype", "bf16"}), "unknown flag '--dtype'; did you mean '--precision'?");
  Layout twice;
  EXPECT_NE(layout_refusal(twice, {"--tp", "8", "--tensor-model-parallel-size", "4"}).find("is given twice"),
            std::string::npos);
}

TEST(ForeignFlags, HaveOneMeaning) {
  for (const questions::ForeignFlag& a : questions::foreign_flags())
    for (const questions::ForeignFlag& b : questions::foreign_flags())
      EXPECT_TRUE(&a == &b || a.name != b.name || (a.ours == b.ours && a.value != b.value)) << a.name;
  EXPECT_EQ(questions::flag_of_program("Megatron-LM", "--tp"), "--tensor-model-parallel-size");
  EXPECT_EQ(questions::flag_of_program("torchtitan", "--seq"), "--training.seq_len");
}

TEST(Flags, AWordThatIsOneBeyondDoubtStandsAnywhere) {
  std::string cluster, op;
  Command c;
  c.name = "run";
  c.positionals = {{"CLUSTER", "a machine", &cluster, true, nullptr, "; such as box"},
                   {"OP", "sum or max", &op, true, nullptr, "", [](const std::string& w) { return w == "sum"; }}};
  EXPECT_NE(parse_command_line({c}, {"run", "sum", "box"}, "1").command, nullptr);
  EXPECT_EQ(cluster, "box");
  EXPECT_EQ(op, "sum");
  EXPECT_NE(parse_command_line({c}, {"run", "sum"}, "1").print.find("CLUSTER is missing: a machine; such as box"),
            std::string::npos);
  EXPECT_NE(parse_command_line({c}, {"run", "box"}, "1").print.find("OP is missing: sum or max"), std::string::npos);
}

}  // namespace
}  // namespace busbar::lines
