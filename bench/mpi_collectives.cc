// Times of MPI's collectives, for bench/against_mpi: what `busbar bench` measures, by the library of others.
//
//   mpirun -n 4 busbar_mpi_collectives all_reduce 1024 67108864 4 20     sizes from, to, factor; iterations
//
// A line per size: bytes S as nccl-tests counts it, and microseconds of one iteration at the slowest rank.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

struct Buffers {
  std::vector<float> in, out;
};
using Call = std::function<void(Buffers&, int count, int part)>;

/// `count`: floats of the whole buffer; `part`: of one rank's share.
const std::map<std::string, Call>& calls() {
  static const std::map<std::string, Call> all{
      {"all_reduce", [](Buffers& b, int count,
                        int) { MPI_Allreduce(b.in.data(), b.out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }},
      {"reduce_scatter",
       [](Buffers& b, int, int part) {
         MPI_Reduce_scatter_block(b.in.data(), b.out.data(), part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
       }},
      {"all_gather",
       [](Buffers& b, int, int part) {
         MPI_Allgather(b.in.data(), part, MPI_FLOAT, b.out.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
       }},
      {"all_to_all",
       [](Buffers& b, int, int part) {
         MPI_Alltoall(b.in.data(), part, MPI_FLOAT, b.out.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
       }},
      {"broadcast", [](Buffers& b, int count, int) { MPI_Bcast(b.in.data(), count, MPI_FLOAT, 0, MPI_COMM_WORLD); }},
      {"reduce", [](Buffers& b, int count, int) {
         MPI_Reduce(b.in.data(), b.out.data(), count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
       }}};
  return all;
}

double time_us(const Call& call, Buffers& b, int count, int part, int iterations) {
  constexpr int kWarmup = 5;
  for (int i = 0; i < kWarmup; ++i) call(b, count, part);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) call(b, count, part);
  const double own = (MPI_Wtime() - begin) / iterations;
  double slowest = 0;
  MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest * 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto call = argc == 6 ? calls().find(argv[1]) : calls().end();
  if (call == calls().end()) {
    if (rank == 0) std::fprintf(stderr, "usage: busbar_mpi_collectives OP FROM TO FACTOR ITERATIONS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const long from = std::atol(argv[2]), to = std::atol(argv[3]), factor = std::atol(argv[4]);
  const int iterations = std::atoi(argv[5]);
  for (long bytes = from; bytes <= to; bytes *= factor) {
    const int part = static_cast<int>((bytes / static_cast<long>(sizeof(float)) + ranks - 1) / ranks);
    Buffers b{std::vector<float>(static_cast<std::size_t>(part * ranks), 1),
              std::vector<float>(static_cast<std::size_t>(part * ranks), 0)};
    const double us = time_us(call->second, b, part * ranks, part, iterations);
    if (rank == 0) std::printf("%ld %.3f\n", bytes, us);
  }
  MPI_Finalize();
}
