#include "busbar/study/internal/mpi_module.h"

#include <mpi.h>

namespace {

constexpr int kTag = 0;

int start(int* rank, int* size) {
  int given = 0;
  if (const int e = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given); e != MPI_SUCCESS) return e;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // a lost process must not end the others
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  return MPI_Comm_size(MPI_COMM_WORLD, size);
}

int send(int to, const char* bytes, std::size_t count) {
  return MPI_Send(bytes, static_cast<int>(count), MPI_CHAR, to, kTag, MPI_COMM_WORLD);
}

int waiting(int* from, std::size_t* count) {
  int there = 0, n = 0;
  MPI_Status status;
  *from = -1;
  if (const int e = MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &status); e != MPI_SUCCESS || !there)
    return e;
  *from = status.MPI_SOURCE;
  const int e = MPI_Get_count(&status, MPI_CHAR, &n);
  *count = static_cast<std::size_t>(n);
  return e;
}

int receive(int from, char* bytes, std::size_t count) {
  return MPI_Recv(bytes, static_cast<int>(count), MPI_CHAR, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int finish() { return MPI_Finalize(); }

constexpr BusbarMpi kFunctions{start, send, waiting, receive, finish};

}  // namespace

extern "C" __attribute__((visibility("default"))) const BusbarMpi* busbar_mpi_1() { return &kFunctions; }
