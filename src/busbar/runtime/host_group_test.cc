#include "busbar/runtime/host_group.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <thread>

#include "busbar/collectives/builders.h"
#include "busbar/runtime/session.h"

namespace busbar::runtime {
namespace {

using testing::HasSubstr;

constexpr const char* kSecret = "00112233445566778899aabbccddeeff";

/// What each of several processes does, here on a thread each.
class Hosts {
 public:
  explicit Hosts(std::uint32_t ranks) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      listeners_.push_back(Listener::open("127.0.0.1:0").value());
      run_.addresses.push_back("127.0.0.1:" + std::to_string(listeners_.back().port()));
    }
    run_.secret = kSecret;
    run_.run = "a test";
    run_.timeout_s = 5;
  }
  HostRun run_of(std::uint32_t rank) const {
    HostRun out = run_;
    out.rank = rank;
    return out;
  }
  Result<std::unique_ptr<HostGroup>> join(const HostRun& run) {
    return HostGroup::join(std::move(listeners_[run.rank]), run);
  }
  void each(const std::function<void(std::uint32_t)>& f) {
    std::vector<std::jthread> threads;
    for (std::uint32_t r = 0; r < run_.addresses.size(); ++r) threads.emplace_back([&f, r] { f(r); });
  }
  HostRun& run() { return run_; }

 private:
  std::vector<Listener> listeners_;
  HostRun run_;
};

Executable ring_of(std::uint32_t ranks) {
  return compile(
             collectives::plan_of(collectives::build_ring(collectives::Collective::kAllReduce, ranks).value(), false)
                 .value(),
             {false})
      .value();
}

TEST(HostGroup, RunsTasksOneAfterAnotherAndRankZeroKnowsAll) {
  const Executable program = ring_of(3);
  for (const std::uint32_t sockets : {1u, 2u}) {
    Hosts hosts(3);
    hosts.run().sockets = sockets;
    hosts.each([&](std::uint32_t rank) {
      const auto group = hosts.join(hosts.run_of(rank));
      ASSERT_TRUE(group.ok()) << group.error().text();
      std::vector<Task> tasks{{&program, {ElementType::kInt32, Reduction::kSum, 20}, 5, 1},
                              {&program, {ElementType::kFloat, Reduction::kMax, 300'000}, 2, 1}};
      for (int again = 0; again < 2; ++again) {
        const auto results = run_tasks(tasks, {.transport = Transport::kTcp, .hosts = group->get()});
        ASSERT_TRUE(results.ok()) << results.error().text();
        for (const TaskResult& r : *results) {
          EXPECT_EQ(r.wrong, 0u);
          EXPECT_GT(r.seconds[rank], 0);
          if (rank == 0) EXPECT_GT(r.seconds[2], 0);
        }
      }
      EXPECT_EQ((*group)->share("rank " + std::to_string(rank)).value(), "rank 0");
    });
  }
}

TEST(HostGroup, DataGoThroughUcxOrLibfabricWhereTheyAre) {
  setenv("UCX_NET_DEVICES", "lo", 0);
  setenv("FI_PROVIDER", "tcp;ofi_rxm", 0);
  const Executable program = ring_of(3);
  for (const Transport transport : {Transport::kUcx, Transport::kOfi}) {
    if (!usable(transport).ok()) continue;
    Hosts hosts(3);
    hosts.run().transport = transport;
    hosts.each([&](std::uint32_t rank) {
      const auto group = hosts.join(hosts.run_of(rank));
      ASSERT_TRUE(group.ok()) << group.error().text();
      std::vector<Task> tasks{{&program, {ElementType::kInt32, Reduction::kSum, 20}, 5, 1, false},
                              {&program, {ElementType::kFloat, Reduction::kMax, 300'000}, 2, 1}};
      for (int again = 0; again < 2; ++again) {
        const auto results = run_tasks(tasks, {.transport = transport, .hosts = group->get()});
        ASSERT_TRUE(results.ok()) << results.error().text();
        EXPECT_EQ((*results)[1].wrong, 0u);
      }
      EXPECT_EQ((*group)->share("rank " + std::to_string(rank)).value(), "rank 0");
    });
  }
}

TEST(HostGroup, AnElementThatOneRankFindsWrongCountsAtRankZero) {
  const Executable program = ring_of(2);
  Hosts hosts(2);
  hosts.each([&](std::uint32_t rank) {
    const auto group = hosts.join(hosts.run_of(rank));
    // The types differ, so what rank 1 adds up is not what it must be.
    const Task task{&program, {rank == 0 ? ElementType::kInt32 : ElementType::kFloat, Reduction::kSum, 20}, 1, 0};
    const auto results = run_tasks({task}, {.transport = Transport::kTcp, .hosts = group->get()});
    ASSERT_TRUE(results.ok()) << results.error().text();
    if (rank == 0) EXPECT_GT(results->front().wrong, 0u);
  });
}

TEST(HostGroup, AStrangerIsRefusedAndTheGroupStillMeets) {
  Hosts hosts(2);
  const HostRun first = hosts.run_of(0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(first.addresses[0].substr(10))));
  const int stranger = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(connect(stranger, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  ASSERT_EQ(send(stranger, "GET / HTTP/1.0\r\n\r\n and some more text until it is long enough", 61, 0), 61);
  hosts.each([&](std::uint32_t rank) {
    const auto group = hosts.join(hosts.run_of(rank));
    EXPECT_TRUE(group.ok()) << group.error().text();
  });
  char byte = 0;
  EXPECT_LE(recv(stranger, &byte, 1, 0), 0) << "it was told something";
  close(stranger);
}

/// What rank 1 hears if it comes with `change`; rank 0 waits for a second.
std::pair<std::string, std::string> refusals(const std::function<void(HostRun&)>& change) {
  Hosts hosts(2);
  hosts.run().timeout_s = 1;
  std::string heard[2];
  hosts.each([&](std::uint32_t rank) {
    HostRun run = hosts.run_of(rank);
    if (rank == 1) change(run);
    const auto group = hosts.join(run);
    if (!group.ok()) heard[rank] = group.error().text();
  });
  return {heard[0], heard[1]};
}

TEST(HostGroup, AnotherSecretIsRefused) {
  const auto [zero, one] = refusals([](HostRun& r) { r.secret[5] = '7'; });
  EXPECT_THAT(zero, HasSubstr("did not come within 1 s"));
  EXPECT_THAT(one, HasSubstr("does not know the secret"));
  for (const std::string& text : {zero, one}) EXPECT_EQ(text.find("00112233"), std::string::npos);
}

TEST(HostGroup, RanksThatWereToldDifferentThingsSayWhat) {
  const auto [zero, one] = refusals([](HostRun& r) { r.run = "another test"; });
  EXPECT_THAT(zero, HasSubstr("was told to run 'another test', and this rank 'a test'"));
  EXPECT_THAT(one, HasSubstr("was told to run 'a test', and this rank 'another test'"));
}

TEST(HostGroup, WhoDoesNotComeIsNamed) {
  Hosts hosts(3);
  hosts.run().timeout_s = 0.3;
  std::string heard[3];
  hosts.each([&](std::uint32_t rank) {
    if (rank == 2) return;
    const auto group = hosts.join(hosts.run_of(rank));
    ASSERT_FALSE(group.ok());
    heard[rank] = group.error().text();
  });
  EXPECT_THAT(heard[0], HasSubstr("rank 2 (127.0.0.1:"));
  EXPECT_THAT(heard[1], HasSubstr("start its process on that host"));
}

TEST(HostGroup, ALostRankIsNamedByAllWithWhatTheyWaitedFor) {
  const Executable program = ring_of(3);
  Hosts hosts(3);
  std::string heard[3];
  hosts.each([&](std::uint32_t rank) {
    auto group = hosts.join(hosts.run_of(rank));
    ASSERT_TRUE(group.ok()) << group.error().text();
    if (rank == 1) return group->reset();
    const auto results = run_tasks({{&program, {ElementType::kFloat, Reduction::kSum, 100}, 1'000'000'000}},
                                   {.transport = Transport::kTcp, .hosts = group->get()});
    ASSERT_FALSE(results.ok());
    heard[rank] = results.error().text();
  });
  for (const std::uint32_t r : {0u, 2u}) EXPECT_THAT(heard[r], HasSubstr("rank 1 (127.0.0.1:")) << r;
}

TEST(HostGroup, AddressesAreChecked) {
  for (const char* bad : {"", "host", ":7000", "host:"})
    EXPECT_THAT(Listener::open(bad).error().text(), HasSubstr("is not an address")) << bad;
  EXPECT_THAT(Listener::open("203.0.113.1:7000").error().text(), HasSubstr("cannot listen on 203.0.113.1:7000"));
}

}  // namespace
}  // namespace busbar::runtime
