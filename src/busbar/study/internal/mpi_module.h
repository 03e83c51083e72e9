// The few functions of MPI that a sweep needs, from a library of their own: a busbar without MPI starts as fast as
// ever.
#pragma once

#include <cstddef>

extern "C" {

/// All return 0, or the error of MPI. One thread calls them.
struct BusbarMpi {
  int (*start)(int* rank, int* size);
  int (*send)(int to, const char* bytes, std::size_t count);
  int (*waiting)(int* from, std::size_t* count);  ///< of the next message; from = -1: none
  int (*receive)(int from, char* bytes, std::size_t count);
  int (*finish)();  ///< waits for every process; leave it out if one is lost
};
/// The only symbol that busbar looks up.
const BusbarMpi* busbar_mpi_1();
}
