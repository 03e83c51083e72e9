// What libraries of networks add to messages over NICs: docs/models/flow.md, "Messages over NICs".
#include <gtest/gtest.h>

#include "busbar/lowering/test_lowered.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::lowering {
namespace {

double us(const TestNetwork& m, const program::CollectiveCall& call, const program::MessageCosts& messages) {
  program::ProtocolModel p;
  p.step_network = Duration::us(5);
  p.messages = messages;
  return 1e3 * lowered_ms(m, call, p);
}

program::MessageCosts copies_above(std::uint64_t bytes) {
  program::MessageCosts out;
  out.steps[0] = {Bytes{bytes}, Duration::us(7)};
  return out;
}

// Four nodes: 6 rounds of 5 us, or of half of the 60 us that a message occupies half of the buffer; bytes hardly count.
TEST(MessageCosts, OfARingAreTwoMessagesInABufferAtATime) {
  const TestNetwork m(single_gpu_nodes(4, 1).seal());
  program::MessageCosts slots;
  slots.slot = Duration::us(60);
  EXPECT_NEAR(us(m, test_call(4, "ring", 800), {}), 6 * 5, 0.1);
  EXPECT_NEAR(us(m, test_call(4, "ring", 800), slots), 6 * 30, 0.1);
  program::CollectiveCall flags = test_call(4, "ring", 800);
  flags.protocol = program::Protocol::kLl;  // whose messages occupy an eighth
  EXPECT_NEAR(us(m, flags, slots), 6 * 5, 0.1);
}

// A piece of 4 MB takes 80 us, longer than (60 + 80) / 2.
TEST(MessageCosts, OfABufferCountForNothingWhereBytesTakeLonger) {
  const TestNetwork m(single_gpu_nodes(4, 1).seal());
  program::MessageCosts slots;
  slots.slot = Duration::us(60);
  EXPECT_NEAR(us(m, test_call(4, "ring", 16'000'000), slots), us(m, test_call(4, "ring", 16'000'000), {}), 1e-6);
}

TEST(MessageCosts, OfARingAreExplainedInFull) {
  const TestNetwork m(single_gpu_nodes(4, 1).seal());
  program::ProtocolModel p;
  p.messages.slot = Duration::us(60);
  Lowering lowering(m.router, m.placement, p, {});
  double sum_us = 0;
  for (const ChainPart& part : lowering.explain(test_call(4, "ring", 800)).value()) sum_us += 1e-6 * part.ps;
  EXPECT_NEAR(sum_us, 6 * 30, 0.1);
}

// Each piece of a ring is a message of a quarter of the call.
TEST(MessageCosts, OfTheReceiverBeginAboveASizeOfTheMessage) {
  const TestNetwork m(single_gpu_nodes(4, 1).seal());
  EXPECT_NEAR(us(m, test_call(4, "ring", 4000), copies_above(1000)), 6 * 5, 1);
  EXPECT_NEAR(us(m, test_call(4, "ring", 4004), copies_above(1000)), 6 * (5 + 7), 1);
  // Of two trees, each with half of the buffer; the longest way is two sends up and two down.
  const double tree_us = us(m, test_call(4, "tree", 4004), {});
  EXPECT_NEAR(us(m, test_call(4, "tree", 4004), copies_above(2002)), tree_us, 1e-6);
  EXPECT_NEAR(us(m, test_call(4, "tree", 4004), copies_above(2000)), tree_us + 4 * 7, 1);
}

// Three others send at the same time; a processor copies one message after another.
TEST(MessageCosts, OfAnAllToAllAddUpAtEachReceiver) {
  const TestNetwork m(single_gpu_nodes(4, 1).seal());
  program::CollectiveCall call = test_call(4, "direct", 4000);
  call.op = collectives::Collective::kAllToAll;
  EXPECT_NEAR(us(m, call, copies_above(1000)), 5, 1);
  EXPECT_NEAR(us(m, call, copies_above(0)), 5 + 3 * 7, 1);
}

}  // namespace
}  // namespace busbar::lowering
