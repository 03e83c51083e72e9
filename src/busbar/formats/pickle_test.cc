#include "busbar/formats/internal/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/formats/fixture.h"
#include "busbar/formats/flight_recorder.h"

namespace busbar::formats {
namespace {

using testing::HasSubstr;

std::string failure_of(std::string_view bytes) {
  const Result<Json> out = read_pickle(bytes, "p");
  return out.ok() ? "" : out.error().text();
}

std::string dump_of(const std::string& name) { return fixture("flight-recorder/" + name); }

TEST(Pickle, ReadsNumbersTextsListsAndDictionaries) {
  // pickle.dumps({"a": [1, -2, 300, 70000, 2.5, True, None, (1, "x")], 7: {}}, protocol=2), by CPython 3.11
  constexpr std::string_view kBytes(
      "\x80\x02}q\x00(X\x01\x00\x00\x00"
      "aq\x01]q\x02(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\x00G@\x04\x00\x00\x00\x00\x00\x00\x88NK\x01X\x01\x00\x00\x00"
      "xq\x03\x86q\x04"
      "eK\x07}q\x05u.",
      77);
  EXPECT_EQ(read_pickle(kBytes, "p").value().dump(), R"({"a":[1,-2,300,70000,2.5,true,null,[1,"x"]],"7":{}})");
}

TEST(Pickle, RunsNothing) {
  EXPECT_THAT(failure_of("\x80\x02"
                         "cos\nsystem\n(X\x02\x00\x00\x00lstR."),
              HasSubstr("is more than data: it needs os.system"));
}

TEST(Pickle, TakesTypedListsOfPyTorch) {
  EXPECT_EQ(read_pickle("\x80\x02"
                        "ctorch.jit._pickle\nbuild_intlist\n](K\x01K\x02"
                        "e\x85R.",
                        "p")
                .value()
                .dump(),
            "[1,2]");
}

TEST(Pickle, SurvivesCutsAndChangedBytes) {
  const std::string whole = dump_of("nccl_trace_rank_0");
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_NE(failure_of(whole.substr(0, size)), "") << size;
  for (std::size_t at = 2; at < whole.size(); ++at)
    for (const int flip : {1, 0x80, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      static_cast<void>(flight_recorder_lines(changed, "rank_0"));
    }
}

TEST(Pickle, RefusesWhatGrowsWithoutEnd) {
  std::string lists = "\x80\x02]q";  // each list holds the one before twice
  lists += '\0';
  for (int i = 0; i < 60; ++i) lists += std::string("](h\0h\0eq\0", 9);
  EXPECT_THAT(failure_of(lists + "."), HasSubstr("ends with other than one value"));
  EXPECT_THAT(failure_of(std::string("\x80\x02]q\0h\0a.", 9)), HasSubstr("nested deeper"))
      << "a list that holds itself";
}

TEST(FlightRecorder, SaysPerGroupHowFarTheRankIs) {
  for (const char* const rank : {"0", "1", "3"}) {  // pickle of protocols 2 and 4, and JSON
    const std::string name = std::string("nccl_trace_rank_") + rank, dump = dump_of(name);
    ASSERT_TRUE(looks_like_flight_recorder(dump)) << name;
    const std::string head = std::string("flight recorder rank ") + rank + " group 0(default_pg)";
    EXPECT_EQ(flight_recorder_lines(dump, "dumps/" + name).value(),
              head + " enqueued 78\n" + head + " started 78\n" + head + " completed 77\n" + head +
                  " waits in 78:nccl:all_reduce\n" + head + "#78 calls nccl:all_reduce[[4096,1024]][\"Float\"]\n" +
                  head + "#78 state started\n");
  }
}

}  // namespace
}  // namespace busbar::formats
