#include "busbar/formats/internal/mscclpp_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/formats/fixture.h"

namespace busbar::formats {
namespace {

using ::testing::HasSubstr;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

std::string plan_error(const std::string& text) {
  const auto p = read_mscclpp_plan(text, "p.json");
  if (!p.ok()) return p.error().text();
  const auto proof = collectives::prove(p->plan);
  return proof.ok() ? "proved" : proof.error().text();
}

/// Two ranks: each adds the other's half to its own half, and writes the sum to both.
std::string exchange_plan() {
  std::string gpus;
  for (const int id : {0, 1}) {
    const std::string own = std::to_string(id), peer = std::to_string(1 - id);
    gpus += std::string(id == 0 ? "" : ",") + R"({"id": )" + own +
            R"(, "input_chunks": 2, "output_chunks": 0, "scratch_chunks": 0,
 "channels": [{"channel_type": "memory", "connected_to": [)" +
            peer + R"(]}],
 "remote_buffers": [{"rank": )" +
            peer + R"(, "type": "i", "access_channel_types": ["memory"]}], "semaphores": [],
 "threadblocks": [{"id": 0, "channels": [{"channel_type": "memory", "channel_ids": [0]}],
  "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
  "ops": [{"name": "signal", "channel_ids": [0], "channel_type": "memory"},
          {"name": "wait", "channel_ids": [0], "channel_type": "memory"},
          {"name": "rres", "src_buff": [{"type": "i", "index": )" +
            own + R"(, "size": 1}, {"buffer_id": 0, "index": )" + own +
            R"(, "size": 1}], "dst_buff": [{"type": "i", "index": )" + own +
            R"(, "size": 1}, {"buffer_id": 0, "index": )" + own + R"(, "size": 1}], "channel_type": "memory"}]}]})";
  }
  return R"({"name": "exchange", "collective": "allreduce", "protocol": "Simple", "inplace": true, "gpus": [)" + gpus +
         "]}";
}

TEST(MscclppPlan, SamplesAreProved) {
  for (const char* name : {"allreduce", "allreduce_packet", "allreduce_pipeline", "reduce", "reduce_nvls",
                           "reduce_nvls_pipeline", "transfer_pack_tbg"}) {
    const std::string file = std::string(name) + ".json";
    EXPECT_EQ(plan_error(fixture("mscclpp-plan/" + file)), "proved") << name;
  }
}

TEST(MscclppPlan, SumsInPlaceWithTwoSignals) { EXPECT_EQ(plan_error(exchange_plan()), "proved"); }

TEST(MscclppPlan, WithoutItsSignalOrWaitItIsWrong) {
  EXPECT_THAT(plan_error(replaced(exchange_plan(), R"("signal")", R"("nop")")),
              HasSubstr("gpus[1].threadblocks[0].ops[1]: waits for 1 signals, of which 0 are sent"));
  // Reading and writing the other rank's buffer is a race only if both touch the same chunk.
  const std::string same = replaced(exchange_plan(), R"("index": 1, "size": 1}, {"buffer_id": 0, "index": 1)",
                                    R"("index": 0, "size": 1}, {"buffer_id": 0, "index": 0)");
  EXPECT_THAT(plan_error(same), HasSubstr("in no defined order with rank"));
}

TEST(MscclppPlan, ErrorsHaveTheirPath) {
  EXPECT_THAT(plan_error(replaced(exchange_plan(), R"("rres")", R"("rrez")")),
              HasSubstr("p.json: gpus[0].threadblocks[0].ops[2].name: there is no operation 'rrez'"));
  EXPECT_THAT(plan_error(replaced(exchange_plan(), R"("buffer_id": 0)", R"("buffer_id": 7)")),
              HasSubstr("gpus[0].threadblocks[0].ops[2].src_buff[1]: the thread block has no remote buffer 7"));
  EXPECT_THAT(plan_error(replaced(exchange_plan(), R"("channel_ids": [0])", R"("channel_ids": [4])")),
              HasSubstr("there is no memory channel '4'"));
  EXPECT_THAT(plan_error(replaced(exchange_plan(), R"("allreduce")", R"("dance")")), HasSubstr("collective: 'dance'"));
  EXPECT_THAT(plan_error(replaced(exchange_plan(), R"("id": 0)", R"("id": 9)")),
              HasSubstr("gpus[0].id: GPU 9 where GPU 0"));
  EXPECT_THAT(plan_error("[1, 2"), HasSubstr("p.json:1:6: not JSON"));
}

TEST(MscclppPlan, UnknownKeysAreListed) {
  const auto p = read_mscclpp_plan(replaced(exchange_plan(), R"("inplace")", R"("colour": 3, "inplace")"), "p").value();
  ASSERT_EQ(p.unknown.size(), 1u);
  EXPECT_EQ(p.unknown[0].what, "key colour");
}

}  // namespace
}  // namespace busbar::formats
