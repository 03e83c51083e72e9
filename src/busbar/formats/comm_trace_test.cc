#include "busbar/formats/comm_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "busbar/formats/fixture.h"

namespace busbar::formats {
namespace {

using ::testing::HasSubstr;

Result<CommTrace> chakra(const std::string& bytes) {
  std::istringstream in(bytes);
  return read_chakra(in, "t.et");
}
Result<CommTrace> kineto(const std::string& text) {
  std::istringstream in(text);
  return read_kineto(in, "t.json");
}

// Fields in protobuf's encoding.
std::string varint(std::uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  return out + static_cast<char>(v);
}
std::string number(int field, std::uint64_t v) { return varint(static_cast<std::uint64_t>(field) << 3) + varint(v); }
std::string bytes(int field, const std::string& v) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(v.size()) + v;
}
std::string message(const std::string& v) { return varint(v.size()) + v; }
const std::string kHead = message(bytes(1, "0.0.4"));

TEST(Chakra, ReadsACollectiveOfASample) {
  const CommTrace t = chakra(fixture("chakra-et/all_gather_4npus_1MB.1.et")).value();
  EXPECT_EQ(t.version, "0.0.4");
  ASSERT_EQ(t.collectives.size(), 1u);
  EXPECT_EQ(t.collectives[0].op, collectives::Collective::kAllGather);
  EXPECT_EQ(t.collectives[0].bytes, 1u << 20);
  EXPECT_TRUE(t.collectives[0].on_gpu);
  EXPECT_TRUE(t.unknown.empty());
}

TEST(Chakra, CountsTheSendsOfACustomAlgorithm) {
  const CommTrace t = chakra(fixture("chakra-et/custom_ring_allreduce_8npus_1MB.0.et")).value();
  EXPECT_EQ(t.version, "1.0.2-chakra.0.0.4");
  EXPECT_EQ(t.sends, 14u);  // 2(n-1) sends of 1/8 MiB
  EXPECT_EQ(t.receives, 14u);
  EXPECT_EQ(t.bytes_sent, 14u << 17);
}

TEST(Chakra, KnowsEveryKindOfNumber) {
  const std::string size = bytes(10, bytes(1, "comm_size") + number(13, 4096));
  const std::string type = bytes(10, bytes(1, "comm_type") + number(7, 7));
  const std::string group = bytes(10, bytes(1, "pg_name") + bytes(29, "tp"));
  const std::string node = number(1, 5) + bytes(2, "rs") + number(3, 7) + number(6, 10) + number(7, 20) +
                           bytes(5, varint(1) + varint(300)) + size + type + group;
  const CommTrace t = chakra(kHead + message(node)).value();
  ASSERT_EQ(t.collectives.size(), 1u);
  const TracedCollective& c = t.collectives[0];
  EXPECT_EQ(c.op, collectives::Collective::kReduceScatter);
  EXPECT_EQ(c.bytes, 4096u);
  EXPECT_EQ(c.group, "tp");
  EXPECT_EQ(c.duration_us, 20);
}

TEST(Chakra, BrokenOnesNameTheByte) {
  EXPECT_THAT(chakra("").error().text(), HasSubstr("t.et: is empty"));
  EXPECT_THAT(chakra(kHead + varint(10) + "abc").error().text(), HasSubstr("byte 9: the file ends within a message"));
  EXPECT_THAT(chakra(kHead + message(bytes(2, "x") + "\x0a\x7f")).error().text(),
              HasSubstr("byte 14: is not a field of a node"));
  EXPECT_THAT(chakra(kHead + "\xff\xff\xff\xff\xff\xff\x01").error().text(), HasSubstr("byte 8: is not a length"));
}

TEST(Chakra, UnknownTypesAreListed) {
  const CommTrace t =
      chakra(kHead + message(number(1, 1) + number(3, 12)) + message(number(1, 2) + number(31, 1))).value();
  ASSERT_EQ(t.unknown.size(), 2u);
  EXPECT_EQ(t.unknown[0].what, "node type 12");
  EXPECT_EQ(t.unknown[1].what, "field 31 of a node");
}

TEST(Chakra, KnowsGroupsByNameOrNumberAndDimensionsThatAreLeftOut) {
  const std::string by_name = bytes(10, bytes(1, "pg_name") + bytes(29, "3"));
  const std::string by_number = bytes(10, bytes(1, "comm_group") + number(9, 3));
  const std::string all = bytes(10, bytes(1, "involved_dim") + bytes(28, bytes(1, "\x01\x01")));
  const std::string some = bytes(10, bytes(1, "involved_dim") + bytes(28, number(1, 1) + number(1, 0)));
  const CommTrace t =
      chakra(kHead + message(number(3, 7) + by_name + all) + message(number(3, 7) + by_number + some)).value();
  ASSERT_EQ(t.collectives.size(), 2u);
  EXPECT_EQ(t.collectives[0].group, "3");
  EXPECT_EQ(t.collectives[1].group, "3");
  ASSERT_EQ(t.unknown.size(), 1u);
  EXPECT_EQ(t.unknown[0], (UnknownPart{0, "involved_dim that leaves dimensions out", 1}));
}

Result<CommTrace> chakra_json(const std::string& text) {
  std::istringstream in(text);
  return read_chakra_json(in, "t.json");
}

TEST(ChakraJson, ReadsASample) {
  const CommTrace t = chakra_json(fixture("chakra-json/small_chakra.0.json")).value();
  EXPECT_EQ(t.world_size, 8u);
  EXPECT_EQ(t.events, 7u);
  ASSERT_EQ(t.collectives.size(), 3u);
  EXPECT_FALSE(t.collectives[0].on_gpu);
  EXPECT_EQ(t.collectives[0].op, collectives::Collective::kBroadcast) << "by its name: c10d::broadcast_(0)";
  EXPECT_EQ(t.collectives[2].op, collectives::Collective::kBroadcast);
  EXPECT_EQ(t.collectives[2].duration_us, 28);
  EXPECT_TRUE(t.collectives[2].on_gpu);
  EXPECT_TRUE(t.unknown.empty());
}

TEST(ChakraJson, AgreesWithTheBinaryForm) {
  const auto attribute = [](const char* name, int field, std::uint64_t v) {
    return bytes(10, bytes(1, name) + number(field, v));
  };
  std::string wire = kHead, json = R"({"workload_graph": [)";
  for (std::uint64_t op = 0; op <= 10; ++op) {
    wire += message(number(3, 7) + bytes(2, "x") + attribute("comm_type", 9, op) + attribute("comm_size", 9, 64 << op) +
                    attribute("is_cpu_op", 27, op % 2) + attribute("runtime", 9, 5 + op) +
                    bytes(10, bytes(1, "pg_name") + bytes(29, "g")));
    json += (op > 0 ? "," : "") + std::string(R"({"NodeType": 7, "Name": "x", "pg_name": "g", "comm_type": )") +
            std::to_string(op) + R"(, "comm_size": )" + std::to_string(64 << op) + R"(, "is_cpu_op": )" +
            (op % 2 == 1 ? "true" : "false") + R"(, "runtime": )" + std::to_string(5 + op) + "}";
  }
  const CommTrace a = chakra(wire).value(), b = chakra_json(json + "]}").value();
  ASSERT_EQ(a.collectives.size(), 11u);
  ASSERT_EQ(b.collectives.size(), 11u);
  for (std::size_t i = 0; i < 11; ++i) {
    const TracedCollective &x = a.collectives[i], &y = b.collectives[i];
    EXPECT_EQ(x.op, y.op);
    EXPECT_EQ(x.bytes, y.bytes);
    EXPECT_EQ(x.group, y.group);
    EXPECT_EQ(x.duration_us, y.duration_us);
    EXPECT_EQ(x.on_gpu, y.on_gpu);
  }
  EXPECT_EQ(a.kinds, b.kinds);
  EXPECT_EQ(a.unknown, b.unknown);
}

TEST(ChakraJson, BrokenOnesNameThePlace) {
  EXPECT_THAT(chakra_json(R"({"workload_graph": [{"NodeType": 7, "comm_size": -1}]})").error().text(),
              HasSubstr("t.json: workload_graph[0].comm_size: '-1' is not a number of 0 or more"));
  EXPECT_THAT(chakra_json(R"({"workload_graph": [{"NodeType": 4}, {"Id": 1}]})").error().text(),
              HasSubstr("workload_graph[1]: lacks 'NodeType'"));
  EXPECT_THAT(chakra_json(R"({"workload_graph": [{"NodeType": 4})").error().text(), HasSubstr("byte 36: not JSON"));
  EXPECT_THAT(chakra_json("{\"ngpus\": 8}").error().text(), HasSubstr("no 'workload_graph'"));
  EXPECT_THAT(
      chakra_json("{\"workload_graph\": [" + std::string(400, '[') + std::string(400, ']') + "]}").error().text(),
      HasSubstr("nested deeper than 256 levels"));
  EXPECT_EQ(chakra_json(R"({"workload_graph": [{"NodeType": 4, "odd": 1}], "also": 2})").value().unknown.size(), 2u);
}

constexpr const char* kModern = R"json({"schemaVersion": 1,
"distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 8}, "traceEvents": [
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
  "pid": 0, "tid": 7, "ts": 100.5, "dur": 30.25, "args": {"stream": 7, "grid": [24, 1, 1], "block": [512, 1, 1],
  "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "BFloat16", "Group size": 4,
  "Process Group Name": "1", "Process Group Ranks": "[0, 1, 2, 3]", "In split size": "[]"}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL(x)", "ts": 200, "dur": 40, "args": {
  "Collective name": "_allgather_base", "In msg nelems": 10, "Out msg nelems": 40, "dtype": "Float", "Group size": 4,
  "Process Group Ranks": "[0, 1, ...]"}},
 {"ph": "X", "cat": "cpu_op", "name": "nccl:all_reduce", "ts": 1, "dur": 2, "args": {"Input Dims": [[9, 9]]}},
 {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 2}]})json";

TEST(Kineto, ReadsSizesAndGroupsWithKernels) {
  const CommTrace t = kineto(kModern).value();
  EXPECT_EQ(t.rank, 2u);
  EXPECT_EQ(t.world_size, 8u);
  EXPECT_EQ(t.events, 4u);
  ASSERT_EQ(t.collectives.size(), 2u);
  const TracedCollective& c = t.collectives[0];
  EXPECT_EQ(c.op, collectives::Collective::kAllReduce);
  EXPECT_EQ(c.bytes, 2000u);
  EXPECT_EQ(c.ranks, 4u);
  EXPECT_EQ(c.channels, 24u);
  EXPECT_EQ(c.duration_us, 30.25);
  EXPECT_THAT(c.members, testing::ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(t.collectives[1].op, collectives::Collective::kAllGather);
  EXPECT_EQ(t.collectives[1].bytes, 160u);  // of the larger of the two buffers
  EXPECT_TRUE(t.collectives[1].members.empty());
}

TEST(Kineto, OlderTracesHaveSizesWithCalls) {
  const CommTrace t = kineto(fixture("kineto/hta-sampled_rank-0-nccl.json")).value();
  std::uint64_t kernels = 0, calls = 0;
  for (const TracedCollective& c : t.collectives) {
    (c.on_gpu ? kernels : calls) += 1;
    EXPECT_EQ(c.ranks, 128u);
    if (c.op == collectives::Collective::kAllReduce && !c.on_gpu) EXPECT_EQ(c.bytes % 4, 0u);
  }
  EXPECT_EQ(kernels, 10u);
  EXPECT_EQ(calls, 10u);
  ASSERT_EQ(t.notes.size(), 1u);
}

TEST(Kineto, EqualCallsAreOneLine) {
  CommTrace t = kineto(kModern).value();
  t.collectives.push_back(t.collectives[0]);
  t.collectives.back().duration_us = 10;
  const auto calls = alike(t);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[1].what, "all_reduce");
  EXPECT_EQ(calls[1].times, 2u);
  EXPECT_EQ(calls[1].fastest_us, 10);
  EXPECT_EQ(calls[1].median_us, 20.125);
}

TEST(Kineto, BrokenOnesNameTheByte) {
  EXPECT_THAT(kineto("{\"traceEvents\": [}").error().text(), HasSubstr("t.json: byte 18: not JSON: syntax error"));
  EXPECT_THAT(kineto("{\"schemaVersion\": 1}").error().text(), HasSubstr("no 'traceEvents'"));
  EXPECT_THAT(kineto("{\"traceEvents\": [1e999]}").error().text(), HasSubstr("not JSON"));
  EXPECT_THAT(kineto("{\"traceEvents\": " + std::string(400, '[')).error().text(), HasSubstr("nested deeper"));
}

}  // namespace
}  // namespace busbar::formats
