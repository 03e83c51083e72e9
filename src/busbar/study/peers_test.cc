#include "busbar/study/peers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <utility>

#include "busbar/study/internal/mpi_module.h"

namespace busbar::study {
namespace {

struct Piece {
  int from = 0;
  std::string bytes;
};
std::deque<Piece> under_way;
int sender = 0;

/// An MPI of one process: what a rank sends, the same process receives. `sender` is the rank that sends.
constexpr BusbarMpi kLoop{nullptr,
                          [](int, const char* bytes, std::size_t count) {
                            under_way.push_back({sender, std::string(bytes, count)});
                            return 0;
                          },
                          [](int* from, std::size_t* count) {
                            *from = under_way.empty() ? -1 : under_way.front().from;
                            *count = under_way.empty() ? 0 : under_way.front().bytes.size();
                            return 0;
                          },
                          [](int, char* bytes, std::size_t count) {
                            std::memcpy(bytes, under_way.front().bytes.data(), count);
                            under_way.pop_front();
                            return 0;
                          },
                          [] {
                            std::this_thread::sleep_for(std::chrono::hours(1));
                            return 0;
                          }};

std::deque<Piece> sent_by(int rank, const std::string& text) {
  under_way.clear();
  sender = rank;
  EXPECT_TRUE(Peers(kLoop, rank, 4).send(0, text).ok());
  return std::exchange(under_way, {});
}

TEST(Peers, LongMessagesTravelInPiecesThatMpiSendsAtOnce) {
  for (const std::size_t bytes : {0, 1, 999, 1000, 1001, 2000, 5000}) {
    const std::string text(bytes, 'x');
    under_way = sent_by(1, text);
    for (const Piece& p : under_way)
      EXPECT_LE(p.bytes.size(), 1024u);  // Open MPI's smallest limit is 4,096 with headers
    Peers manager(kLoop, 0, 4);
    const auto message = manager.next();
    ASSERT_TRUE(message.ok() && message->has_value()) << bytes;
    EXPECT_EQ((*message)->from, 1);
    EXPECT_EQ((*message)->text, text);
    EXPECT_TRUE(under_way.empty());
  }
}

TEST(Peers, ASenderThatDiesInTheMiddleStopsNobodyElse) {
  std::deque<Piece> cut = sent_by(2, std::string(5000, 'a'));
  cut.resize(3);
  const std::deque<Piece> whole = sent_by(3, std::string(3000, 'b'));
  under_way = cut;
  under_way.insert(under_way.begin() + 1, whole.begin(), whole.end());  // pieces of both mixed
  Peers manager(kLoop, 0, 4);
  const auto message = manager.next();
  ASSERT_TRUE(message.ok() && message->has_value());
  EXPECT_EQ((*message)->from, 3);
  EXPECT_EQ((*message)->text, std::string(3000, 'b'));
  EXPECT_FALSE(manager.next()->has_value());
}

TEST(Peers, AnEndThatMpiNeverReachesIsAnError) {
  EXPECT_EXIT((void)Peers(kLoop, 0, 4).finish(std::chrono::milliseconds(50)), testing::ExitedWithCode(2),
              "a process was lost at the end");
}

}  // namespace
}  // namespace busbar::study
