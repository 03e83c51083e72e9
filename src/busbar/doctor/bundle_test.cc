#include "busbar/doctor/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "busbar/base/archive.h"
#include "busbar/doctor/compare_bundles.h"
#include "busbar/doctor/fact_tables.h"
#include "busbar/doctor/internal/redaction.h"
#include "busbar/formats/lines.h"

namespace busbar::doctor {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string redacted_line(const std::string& line) {
  Redaction redaction("salt");
  redaction.learn(line);
  return redaction.redact(line);
}

TEST(Redaction, ReplacesNamesAndAddressesAndKeepsTheRest) {
  const std::string out =
      redacted_line("node7.corp.example:1234:5678 [0] NCCL INFO Bootstrap : Using eth0:192.168.7.31<0> by alice@node7");
  EXPECT_THAT(
      out, testing::MatchesRegex("host-[0-9a-f]+:1234:5678 \\[0\\] NCCL INFO Bootstrap : Using eth0:10\\.[0-9.]+<0> by "
                                 "user-[0-9a-f]+@host-[0-9a-f]+"));
}

TEST(Redaction, KeepsWhatIsNoSecret) {
  for (const char* const line :
       {"0000:17:00.0 GPU 00000000:18:00.0 class:0x030200", "NCCL version 2.27.3+cuda12.8", "fw_ver: 28.39.1002",
        "MLNX_OFED_LINUX-24.10-0.7.0.0", "127.0.0.1 0.0.0.0 255.255.255.0", "State: Active", "01:33:48 12 GB/s",
        "/home/root mlx5_0 1 3 fe80:0000:0000:0000", "std::string NET/IB : Using [0]mlx5_0:1/IB", "..."})
    EXPECT_EQ(redacted_line(line), line);
}

TEST(Redaction, KeepsNetworksAndWidthsOfIdentifiers) {
  const std::string a = redacted_line("10.1.2.3"), b = redacted_line("10.1.2.77"), c = redacted_line("10.1.3.3");
  EXPECT_NE(a, b);
  EXPECT_EQ(a.substr(0, a.rfind('.')), b.substr(0, b.rfind('.'))) << "one network stays one";
  EXPECT_NE(a.substr(0, a.rfind('.')), c.substr(0, c.rfind('.')));
  for (const char* const id : {"0x98039b0300a1b2c3", "9803:9b03:00a1:b2c3", "52:54:00:12:34:56",
                               "fe80:0000:0000:0000:9a03:9bff:fea1:b2c3", "GPU-8e9f0a1b-1111-2222-3333-444455556666"}) {
    const std::string out = redacted_line(id);
    EXPECT_EQ(out.size(), std::string(id).size()) << out;
    EXPECT_NE(out, id);
  }
  EXPECT_THAT(redacted_line("fe80:0000:0000:0000:9a03:9bff:fea1:b2c3"), testing::StartsWith("fe80:0000:0000:0000:"));
}

TEST(Redaction, KeepsPathsOfTheKernelWhereAHostHasTheNameOfAFolder) {
  Redaction redaction("salt");
  redaction.add_host("vm");
  EXPECT_EQ(redaction.redact("/proc/sys/vm/nr_hugepages:0"), "/proc/sys/vm/nr_hugepages:0");
  EXPECT_NE(redaction.redact("/proc/sys/kernel/hostname:vm"), "/proc/sys/kernel/hostname:vm");
}

TEST(Redaction, RemovesSerialNumbersAndSecrets) {
  EXPECT_THAT(redacted_line("    Serial Number                         : 1652923012345"), Not(HasSubstr("1652")));
  EXPECT_THAT(redacted_line("HF_TOKEN=hf_abcdef"), Not(HasSubstr("abcdef")));
  EXPECT_THAT(redacted_line("SLURM_JOB_NODELIST=node[01-16]"), Not(HasSubstr("node[")));
}

TEST(Redaction, DependsOnTheSaltAndOnNothingElse) {
  const Redaction one("a"), same("a"), other("b");
  EXPECT_EQ(one.redact("10.1.2.3"), same.redact("10.1.2.3"));
  EXPECT_NE(one.redact("10.1.2.3"), other.redact("10.1.2.3"));
}

class Bundles : public testing::Test {
 protected:
  /// Reads a text as if it came from an archive.
  void add(const std::string& archive, const std::string& text) {
    formats::LineSource lines = formats::LineSource::of_text(text, archive + ":host.txt");
    evidence_.file(tables_.read(lines, evidence_)).archive = archive;
  }
  const FactTables tables_ = FactTables::load(spec::Catalog()).value();
  Evidence evidence_;
};

TEST_F(Bundles, HoldEveryFileWithoutItsNames) {
  const std::string tar = pack_bundle({{"/home/bob/n1.log", "n1:1:2 [0] NCCL INFO x 10.0.0.1\nn1 again", {}}}, {"boss"},
                                      {}, {"environment: env"}, false);
  ArchiveFiles reader(std::make_unique<std::istringstream>(tar));
  ASSERT_TRUE(reader.next().value());
  EXPECT_EQ(reader.name(), "README.txt");
  ASSERT_TRUE(reader.next().value());
  for (const char* const secret : {"n1:", "bob", "10.0.0.1", "n1 again", "n1.log"})
    EXPECT_THAT(tar, Not(HasSubstr(secret)));
  EXPECT_THAT(tar, HasSubstr(" again"));
  EXPECT_THAT(tar, HasSubstr("environment: env"));
}

TEST_F(Bundles, NameTheOddOneWithItsDifferences) {
  const std::string usual = "host GPUs: 8\nNCCL_ALGO=Ring\nhost module nvidia_peermem: loaded\n";
  add("a.tar", usual);
  add("b.tar", "host GPUs: 8\nhost module nvidia_peermem: absent\n");
  add("c.tar", usual);
  const std::vector<Finding> found = compare_bundles(evidence_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].part, "b.tar");
  EXPECT_EQ(found[0].explanation,
            "module nvidia_peermem: absent instead of loaded; variable NCCL_ALGO: not set instead of Ring.");
  ASSERT_EQ(found[0].evidence.size(), 1u);
  EXPECT_EQ(found[0].evidence[0].line, 2);
}

TEST_F(Bundles, CountPartsOfOneValue) {
  for (const char* const archive : {"a.tar", "b.tar", "c.tar"}) {
    std::string text;
    for (int i = 0; i < 3; ++i)
      text += "/sys/bus/pci/devices/0000:1" + std::to_string(i) +
              ":00.0/current_link_width:" + (archive[0] == 'c' && i == 1 ? "8" : "16") + "\n";
    add(archive, text);
  }
  const std::vector<Finding> found = compare_bundles(evidence_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].explanation, "widths of PCIe links: 2 x 16, 1 x 8 instead of 3 x 16.");
}

TEST_F(Bundles, BlameNobodyOfTwo) {
  add("a.tar", "NCCL_ALGO=Ring\n");
  add("b.tar", "NCCL_ALGO=Tree\n");
  const std::vector<Finding> found = compare_bundles(evidence_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].part, "");
  EXPECT_THAT(found[0].explanation, HasSubstr("Ring (a.tar), Tree (b.tar)"));
}

TEST_F(Bundles, ThatAreEqualGiveNoFinding) {
  for (const char* const archive : {"a.tar", "b.tar", "c.tar"}) add(archive, "NCCL_ALGO=Ring\nhost GPUs: 8\n");
  EXPECT_TRUE(compare_bundles(evidence_).empty());
}

}  // namespace
}  // namespace busbar::doctor
