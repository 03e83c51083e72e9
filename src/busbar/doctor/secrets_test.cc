#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/base/text.h"
#include "busbar/doctor/bundle.h"
#include "busbar/doctor/fact_tables.h"
#include "busbar/doctor/internal/used_lines.h"

namespace busbar::doctor {
namespace {

struct Leak {
  const char* line;
  const char* secret;  ///< must not be in a bundle
};

/// Invented lines in the shapes in which users post tokens, keys and names.
constexpr Leak kLeaks[] = {
    {"[1,0]<stdout>:HF_TOKEN=hf_QwErTyUiOp", "QwErTyUiOp"},
    {"0: HF_TOKEN=abcd1234", "abcd1234"},
    {"srun --export=ALL,HF_TOKEN=abcd1235,NCCL_DEBUG=INFO ./train", "abcd1235"},
    {"HF_TOKEN: abcd1236", "abcd1236"},
    {"  hf_token: \"abcd1237\"", "abcd1237"},
    {"{\"api_key\": \"abcd1238\", \"n\": 1}", "abcd1238"},
    {"{\\\"api_key\\\": \\\"abcd1239\\\"}", "abcd1239"},
    {"Authorization: Bearer abcd1240", "abcd1240"},
    {"curl -H 'Authorization: Bearer abcd1241' https://x", "abcd1241"},
    {"sending Bearer abcd1242 now", "abcd1242"},
    {"mpirun -H node7:8 -x HF_TOKEN=abcd1243 -x NCCL_DEBUG=INFO ./all_reduce_perf", "abcd1243"},
    {"docker run -e WANDB_API_KEY=abcd1244 image", "abcd1244"},
    {"export AWS_SECRET_ACCESS_KEY=abcd/1245+x", "abcd/1245"},
    {"aws_secret_access_key = abcd1246", "abcd1246"},
    {"s3://AKIAQWERTYUIOPASDFGH/data", "QWERTYUIOP"},
    {"key AKIAQWERTYUIOPASDFGJ used", "QWERTYUIOP"},
    {"openai sk-proj-abcd1247", "abcd1247"},
    {"cloning with ghp_abcd1248efgh", "abcd1248"},
    {"github_pat_11ABCD1249_xyz", "ABCD1249"},
    {"slack xoxb-1250-abcd", "1250-abcd"},
    {"jwt eyJhbGciOi.eyJzdWIi.abcd1251", "abcd1251"},
    {"glpat-abcd1252efgh", "abcd1252"},
    {"login --token abcd1253 --quiet", "abcd1253"},
    {"huggingface-cli login --hf-token abcd1254", "abcd1254"},
    {"machine api.wandb.ai login user password abcd1255", "abcd1255"},
    {"db_password=abcd1256", "abcd1256"},
    {"PASSWORD='abcd 1257 long'", "1257"},
    {"git clone https://jane:abcd1258@git.example/x.git", "abcd1258"},
    {"wandb: logged in as: jane99 (acme)", "jane99"},
    {"key 0123456789abcdef0123456789abcdef01234567", "89abcdef01234567"},
    {"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQDabcd1259", "abcd1259"},
    {"torchrun --master_addr secretnode17 --rdzv_endpoint=secretnode17:29500", "secretnode17"},
    {"secretnode18:10:20 [0] NCCL INFO Bootstrap : Using eth0:10.1.2.3<0>", "secretnode18"},
    {"cd /home/jane98/run && NCCL_DEBUG=INFO ./x", "jane98"},
    {"USER=jane97", "jane97"},
    {"jane96@secretnode19:~$ ibstat", "jane96"},
    {"NCCL_COMM_ID=10.99.98.97:4711", "10.99.98.97"},
    {"SLURM_JOB_NODELIST=secretnode[20-27]", "secretnode["},
    {"Serial Number                   : 1652923012345", "1652923012345"},
    {"mpirun noticed that process rank 3 with PID 4711 on node secretnode28 exited on signal 9 (Killed).",
     "secretnode28"},
    {"prompt: the merger of Acme and Example is secret, do not tell", "Acme"},
    {"-----BEGIN OPENSSH PRIVATE KEY-----\nabcd1260\n-----END OPENSSH PRIVATE KEY-----", "abcd1260"},
    {"rank 0: secretnode17 and jane97 again, /data/secretnode18-jane98/x", "secretnode18"},
};

std::string bundled(bool full) {
  const FactTables tables = FactTables::load(spec::Catalog()).value();
  std::string text;
  for (const Leak& leak : kLeaks) text += std::string(leak.line) + '\n';
  BundleFile file{"job.log", full ? text : used_lines(text, "job.log", tables), {}};
  return pack_bundle({file}, {}, {}, {}, false);
}

TEST(Bundle, LeaksNoneOfFortySecrets) {
  const std::string few = bundled(false), full = bundled(true);
  ASSERT_GE(std::size(kLeaks), 40u);
  for (const Leak& leak : kLeaks) {
    EXPECT_THAT(few, testing::Not(testing::HasSubstr(leak.secret))) << leak.line;
    if (std::string_view(leak.secret) != "Acme")  // prose has no shape: only the list of used lines removes it
      EXPECT_THAT(full, testing::Not(testing::HasSubstr(leak.secret))) << leak.line;
  }
}

TEST(Bundle, KeepsTheLinesThatTheDoctorReads) {
  const FactTables tables = FactTables::load(spec::Catalog()).value();
  const std::string kept = used_lines(
      "dear all, this is private\nand so is this\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "   1073741824     268435456     float     sum      -1   4.7e+03  228.1  427.7      0   4711.0  227.9  427.3     "
      " 0\n"
      "[1,0]<stdout>:NCCL_IB_DISABLE=1\n"
      "mpirun -np 8 -x NCCL_ALGO=Ring -x NAME=jane ./x\n"
      "n1:10:20 [0] NCCL INFO Using network Socket\n"
      "GPU 0: NVIDIA H100 80GB HBM3\n\t Link 0: <inactive>\n",
      "job.log", tables);
  EXPECT_EQ(kept,
            "(left out: 2)\n"
            "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
            "busbw #wrong\n"
            "   1073741824     268435456     float     sum      -1   4.7e+03  228.1  427.7      0   4711.0  227.9  "
            "427.3      0\n"
            "[1,0]<stdout>:NCCL_IB_DISABLE=1\n"
            "NCCL_ALGO=Ring\n"
            "n1:10:20 [0] NCCL INFO Using network Socket\n"
            "GPU 0: NVIDIA H100 80GB HBM3\n\t Link 0: <inactive>\n");
}

}  // namespace
}  // namespace busbar::doctor
