#include "busbar/questions/bench_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar::questions {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(BenchGroup, HostsAreAnAddressPerLineWithRemarks) {
  const auto hosts = parse_hosts("# two nodes\n10.0.0.1:7000\n\n  [fe80::1]:7001  # the second\r\n", "hosts");
  EXPECT_THAT(hosts.value(), ElementsAre("10.0.0.1:7000", "[fe80::1]:7001"));
}

TEST(BenchGroup, ALineThatIsNoAddressIsNamed) {
  for (const auto& [text, why] :
       {std::pair("a:1\nb\n", "hosts:2: 'b' is not an address"),
        std::pair("a:1\nb:0\n", "hosts:2: 'b:0' is not an address"),
        std::pair("a:1\nb:70000\n", "hosts:2: 'b:70000' is not"),
        std::pair("a:1\na:1\n", "hosts:2: 'a:1' is there twice"), std::pair("a:1\n", "hosts: needs two lines")})
    EXPECT_THAT(parse_hosts(text, "hosts").error().text(), HasSubstr(why)) << text;
}

TEST(BenchGroup, NodesOfSlurmKeepTheirZerosAndWhatFollows) {
  EXPECT_THAT(expand_nodes("n[08-10,3]-ib,login").value(), ElementsAre("n08-ib", "n09-ib", "n10-ib", "n3-ib", "login"));
  EXPECT_THAT(expand_nodes("gpu7").value(), ElementsAre("gpu7"));
  for (const char* bad : {"", "n[", "n[2-1]", "n[a]", "n[1-999999999]"}) EXPECT_FALSE(expand_nodes(bad).ok()) << bad;
}

TEST(BenchGroup, TasksOfSlurmRepeat) {
  EXPECT_THAT(expand_tasks("2(x3),1").value(), ElementsAre(2u, 2u, 2u, 1u));
  for (const char* bad : {"", "x", "2(x", "2(x999999999)", "2(3)"}) EXPECT_FALSE(expand_tasks(bad).ok()) << bad;
}

}  // namespace
}  // namespace busbar::questions
