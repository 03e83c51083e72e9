#include "busbar/formats/msccl_xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "busbar/collectives/builders.h"
#include "busbar/formats/fixture.h"

namespace busbar::formats {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string xml_error(const std::string& text) {
  const auto a = read_msccl_xml(text, "a.xml");
  if (!a.ok()) return a.error().text();
  const auto proof = prove(*a);
  return proof.ok() ? "proved" : proof.error().text();
}

/// Two ranks add their data and exchange it.
std::string exchange(const std::string& second_step =
                         R"(<step s="1" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1"/>)") {
  const auto gpu = [&](int id, int peer) {
    return "<gpu id=\"" + std::to_string(id) + R"(" i_chunks="1" o_chunks="0" s_chunks="0">
<tb id="0" send=")" +
           std::to_string(peer) + "\" recv=\"" + std::to_string(peer) + R"(" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1"/>
)" + second_step +
           "\n</tb></gpu>\n";
  };
  return R"(<algo name="x" proto="LL" nchannels="1" nchunksperloop="1" ngpus="2" coll="allreduce" inplace="1">
)" + gpu(0, 1) +
         gpu(1, 0) + "</algo>";
}

/// Both ranks send `n` chunks to each other before they receive any.
std::string all_sends_first(int n) {
  std::string text = R"(<algo name="x" proto="Simple" nchannels="1" nchunksperloop=")" + std::to_string(2 * n) +
                     R"(" ngpus="2" coll="allgather" inplace="1">
)";
  for (const int id : {0, 1}) {
    const std::string peer = std::to_string(1 - id);
    text += "<gpu id=\"" + std::to_string(id) + R"(" i_chunks="0" o_chunks="0" s_chunks="0">
<tb id="0" send=")" +
            peer + "\" recv=\"" + peer + "\" chan=\"0\">\n";
    for (int k = 0; k < 2 * n; ++k) {
      const std::string at = std::to_string(k < n ? id * n + k : (1 - id) * n + k - n);
      text += "<step s=\"" + std::to_string(k) + "\" type=\"" + (k < n ? "s" : "r") + R"(" srcbuf="o" srcoff=")" + at +
              R"(" dstbuf="o" dstoff=")" + at + "\" cnt=\"1\"/>\n";
    }
    text += "</tb></gpu>\n";
  }
  return text + "</algo>";
}

TEST(MscclXml, SendsWithoutReceivesFillTheirConnectionAndDeadlock) {
  EXPECT_EQ(xml_error(all_sends_first(8)), "proved");
  EXPECT_THAT(xml_error(all_sends_first(9)),
              AllOf(HasSubstr("a.xml:12: "), HasSubstr("a connection holds 8 messages")));
}

TEST(MscclXml, ACollectiveOfKindCustomIsRefusedAtItsLine) {
  std::string text = exchange();
  text.replace(text.find("allreduce"), 9, "custom");
  EXPECT_THAT(read_msccl_xml(text, "x.xml").error().text(), AllOf(HasSubstr("x.xml:1:"), HasSubstr("'custom'")));
}

TEST(MscclXml, EverySampleIsProved) {
  int files = 0;
  for (const auto& f : fs::directory_iterator("tests/fixtures/msccl-xml")) {
    const auto a = read_msccl_xml(fixture("msccl-xml/" + f.path().filename().string()), f.path().filename().string());
    ASSERT_TRUE(a.ok()) << a.error().text();
    const auto proof = prove(*a);
    ASSERT_TRUE(proof.ok()) << proof.error().text();
    EXPECT_GT(proof->sends, 0u);
    ++files;
  }
  EXPECT_EQ(files, 11);
}

TEST(MscclXml, SamplesSurviveWritingAndReading) {
  for (const auto& f : fs::directory_iterator("tests/fixtures/msccl-xml")) {
    const auto a = read_msccl_xml(fixture("msccl-xml/" + f.path().filename().string()), "a").value();
    const std::string text = write_msccl_xml(a).value();
    const auto b = read_msccl_xml(text, "b").value();
    EXPECT_EQ(write_msccl_xml(b).value(), text) << f.path();
    EXPECT_EQ(b.plan.reads.values, a.plan.reads.values) << f.path();
    EXPECT_EQ(b.plan.writes.values, a.plan.writes.values) << f.path();
    EXPECT_EQ(b.plan.after.values, a.plan.after.values) << f.path();
    EXPECT_EQ(b.plan.scratch, a.plan.scratch);
    EXPECT_EQ(b.protocol, a.protocol);
    EXPECT_EQ(b.in_place, a.in_place);
    EXPECT_EQ(b.max_bytes, a.max_bytes);
    EXPECT_TRUE(prove(b).ok());
  }
}

TEST(MscclXml, LoopsAreKept) {
  MscclAlgorithm a =
      msccl_of(collectives::build_schedule("ring", collectives::Collective::kAllReduce, 4, 1, 0).value()).value();
  EXPECT_EQ(read_msccl_xml(write_msccl_xml(a).value(), "x.xml")->loops, 0u);
  a.loops = 21;
  EXPECT_EQ(read_msccl_xml(write_msccl_xml(a).value(), "x.xml")->loops, 21u);
}

// The readers of MSCCL, Azure and RCCL accept only this spelling; ours accepts both.
TEST(MscclXml, ReduceScatterIsOneWord) {
  const MscclAlgorithm a =
      msccl_of(collectives::build_schedule("ring", collectives::Collective::kReduceScatter, 4, 1, 0).value()).value();
  const std::string text = write_msccl_xml(a).value();
  EXPECT_THAT(text, HasSubstr(" coll=\"reducescatter\" "));
  EXPECT_EQ(read_msccl_xml(text, "x.xml")->plan.op, collectives::Collective::kReduceScatter);
}

TEST(MscclXml, OursAreProvedWhenReadBack) {
  int written = 0;
  for (const collectives::Collective op : {collectives::Collective::kAllReduce, collectives::Collective::kAllGather,
                                           collectives::Collective::kReduceScatter, collectives::Collective::kAllToAll,
                                           collectives::Collective::kBroadcast})
    for (const std::string& algorithm : collectives::algorithm_names()) {
      collectives::ScheduleSpec spec;
      spec.algorithm = algorithm;
      spec.op = op;
      spec.ranks = 8;
      spec.ranks_per_group = 4;
      const auto schedule = collectives::build_schedule(spec);
      if (!schedule.ok() || schedule->reducers > 0) continue;
      const auto a = msccl_of(*schedule);
      ASSERT_TRUE(a.ok()) << algorithm << ": " << a.error().text();
      EXPECT_EQ(a->in_place, op != collectives::Collective::kAllToAll) << algorithm;
      const auto b = read_msccl_xml(write_msccl_xml(*a).value(), algorithm + ".xml");
      ASSERT_TRUE(b.ok()) << b.error().text();
      const auto proof = prove(*b);
      ASSERT_TRUE(proof.ok()) << proof.error().text();
      EXPECT_EQ(proof->sends, prove(*a)->sends);
      EXPECT_EQ(proof->depth, prove(*a)->depth);
      ++written;
    }
  EXPECT_GT(written, 20);
  collectives::ScheduleSpec nvls;
  nvls.algorithm = "nvls";
  nvls.op = collectives::Collective::kAllReduce;
  nvls.ranks = nvls.ranks_per_group = 8;
  EXPECT_EQ(msccl_of(collectives::build_schedule(nvls).value()).error().code, ErrorCode::kUnsupported);
}

TEST(MscclXml, WrongAlgorithmsAreRefusedByTheProof) {
  EXPECT_THAT(xml_error(exchange()), HasSubstr("proved"));
  EXPECT_THAT(
      xml_error(exchange(R"(<step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1"/>)")),
      HasSubstr("a.xml: x all_reduce: at the end output chunk 0 of rank 0 lacks the input of rank 0 (in place)"));
}

TEST(MscclXml, ErrorsHaveTheirLine) {
  const auto after = [](std::string text, const std::string& from, const std::string& to) {
    return xml_error(text.replace(text.find(from), from.size(), to));
  };
  EXPECT_THAT(after(exchange(), "\"rrc\"", "\"rcc\""),
              HasSubstr("a.xml:5:1: step.type: 'rcc' is not one of s, r, cpy"));
  EXPECT_THAT(after(exchange(), "recv=\"1\"", "recv=\"-1\""),
              HasSubstr("a.xml:5:1: step: receives, but its thread block"));
  EXPECT_THAT(after(exchange(), " s=\"1\"", " s=\"2\""), HasSubstr("a.xml:5:1: step.s: step 2 but 1 is expected"));
  EXPECT_THAT(after(exchange(), "coll=\"allreduce\"", "coll=\"custom\""), HasSubstr("a.xml:1:1: algo.coll: 'custom'"));
  EXPECT_THAT(after(exchange(), "cnt=\"1\"/>", "cnt=\"1\" depid=\"3\" deps=\"0\"/>"),
              HasSubstr("a.xml:4: waits for step 0 of thread block 3, which rank 0 has not"));
  EXPECT_THAT(after(exchange(), "srcoff=\"0\"", "srcoff=\"5\""),
              HasSubstr("a.xml:4: x all_reduce: rank 0, thread 0, step 0: uses "
                        "input chunk 5, rank 0 has 1"));
  EXPECT_THAT(after(exchange(), "type=\"s\"", "type=\"nop\""),
              HasSubstr("a.xml:10: rank 0 never sends this on channel 0"));
  EXPECT_THAT(after(exchange(), "ngpus=\"2\"", "ngpus=\"3\""), HasSubstr("2 gpu elements, ngpus says 3"));
}

TEST(MscclXml, UnknownAttributesAreListed) {
  const auto a = read_msccl_xml(fixture("msccl-xml/azure-ndv4-ag-1k-512k.xml"), "a").value();
  EXPECT_TRUE(a.unknown.empty());
  std::string text = exchange();
  text.replace(text.find("proto="), 0, "colour=\"red\" ");
  const auto b = read_msccl_xml(text, "b").value();
  ASSERT_EQ(b.unknown.size(), 1u);
  EXPECT_EQ(b.unknown[0].what, "attribute algo.colour");
}

}  // namespace
}  // namespace busbar::formats
