#include "busbar/step/kept_machines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "busbar/predict/test_corpus.h"

namespace busbar::step {
namespace {

/// A process in which each machine that lives takes one byte.
struct OneByteEach {
  std::vector<std::weak_ptr<predict::Predictor>> all;
  KeptMachines kept;

  explicit OneByteEach(std::size_t budget) : kept(budget, [this] { return living(); }) {}
  std::size_t living() const {
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& m) { return !m.expired(); }));
  }
  OpenedMachine open(const std::string& key) {
    static const std::unique_ptr<predict::Predictor> kOne = predict::corpus::Machine{"dgx-h100:1"}.with({});
    OpenedMachine machine;
    machine.predictor = std::shared_ptr<predict::Predictor>(kOne.get(), [](predict::Predictor*) {});
    all.push_back(machine.predictor);
    kept.keep(key, machine);
    return machine;
  }
  bool has(const std::string& key) { return kept.take(key).predictor != nullptr; }
};

TEST(KeptMachines, ThatWereUsedLeastRecentlyGoUntilTheRestFitsTheBudget) {
  OneByteEach process(2);
  for (const char* key : {"a", "b", "c", "d"}) process.open(key);
  EXPECT_TRUE(process.has("a"));  // used again
  process.kept.fit();
  EXPECT_EQ(process.living(), 2u);
  EXPECT_TRUE(process.has("a") && process.has("d"));
  EXPECT_FALSE(process.has("b") || process.has("c"));
}

TEST(KeptMachines, StayWhileTheyFit) {
  OneByteEach process(2);
  for (const char* key : {"a", "b"}) process.open(key);
  process.kept.fit();
  EXPECT_TRUE(process.has("a") && process.has("b"));
}

TEST(KeptMachines, InUseAreNeitherGivenToAnotherStepNorLetGo) {
  OneByteEach process(0);
  OpenedMachine used = process.open("a");
  process.open("b");
  process.kept.fit();
  EXPECT_EQ(process.living(), 1u);
  EXPECT_FALSE(process.has("a"));
  used = {};
  EXPECT_TRUE(process.has("a"));
}

TEST(KeptMachines, KnowTheMemoryOfTheProcess) {
  const std::size_t before = memory_of_process();
  const std::vector<char> block(std::size_t{64} << 20, 'x');
  EXPECT_NEAR(static_cast<double>(memory_of_process() - before), static_cast<double>(block.size()), 4 << 20);
}

}  // namespace
}  // namespace busbar::step
