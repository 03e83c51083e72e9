# Rooms that read files or command lines; their tests run under the sanitizers as well.
set(BUSBAR_READERS base topology workload spec accuracy formats host doctor)
# Further rooms that the preset `asan` sanitizes, for the scenarios with bad input; all others compute from checked values.
# Preset `sanitized` (tools/check_all) takes all: questions and views alone would be a fifth of the compilation of `asan`.
set(BUSBAR_ALSO_SANITIZED nccl popular study lines cli)

# One room = one folder under src/busbar = one library target busbar_<name>; its *_test.cc files make <name>_test.
# COLD: no run waits for the loops of this room, so fast compilation matters more than its speed.
#   busbar_room(topology DEPS base)
function(busbar_room name)
  cmake_parse_arguments(ARG "COLD" "" "DEPS;LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|_module|/main)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM ARG_DEPS PREPEND busbar_)
  set_property(GLOBAL APPEND PROPERTY BUSBAR_ROOMS ${name})
  set(sanitized ${BUSBAR_READERS} ${BUSBAR_ALSO_SANITIZED})
  set(built ${BUSBAR_BUILT_ROOMS}/src/busbar/${name}/libbusbar_${name}.a)
  if(sources AND BUSBAR_BUILT_ROOMS AND NOT name IN_LIST sanitized AND EXISTS ${built})
    add_library(busbar_${name} STATIC IMPORTED GLOBAL)
    set_target_properties(busbar_${name} PROPERTIES IMPORTED_LOCATION ${built})
    target_include_directories(busbar_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(busbar_${name} INTERFACE ${ARG_DEPS} ${ARG_LIBS} ${BUSBAR_FMT})
    return()
  endif()
  if(sources)
    add_library(busbar_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(busbar_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(busbar_${name} ${scope} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(busbar_${name} ${scope} ${ARG_DEPS} ${ARG_LIBS} ${BUSBAR_FMT})
  busbar_flags(busbar_${name} ${scope})
  if(sources AND BUSBAR_READERS_ONLY AND NOT name IN_LIST sanitized)
    target_compile_options(busbar_${name} PRIVATE -fno-sanitize=all -g0)
  endif()
  if(ARG_COLD)
    target_compile_options(busbar_${name} PRIVATE $<$<CONFIG:Release>:-Og>)
  endif()
  if(BUSBAR_TESTS AND tests)
    busbar_gtest(${name} DEPS ${name} SOURCES ${tests})
  endif()
endfunction()

# A GoogleTest program <name>_test; every TEST in it is a separate test of ctest, named <name>/Suite.Test.
function(busbar_gtest name)
  cmake_parse_arguments(ARG "" "" "DEPS;SOURCES" ${ARGN})
  list(TRANSFORM ARG_DEPS PREPEND busbar_)
  add_executable(${name}_test ${ARG_SOURCES})
  target_link_libraries(${name}_test
                        PRIVATE ${ARG_DEPS} rapidcheck rapidcheck_gtest GTest::gmock GTest::gtest GTest::gtest_main)
  # Most of the build is test code, which gains little from either: the rooms that it calls stay optimised and checked.
  target_compile_options(${name}_test PRIVATE -O0)
  if(BUSBAR_SANITIZE MATCHES undefined)
    target_compile_options(${name}_test PRIVATE -fno-sanitize=object-size,vptr)
  endif()
  if(name IN_LIST BUSBAR_READERS)
    busbar_reads_input(${name}_test)
    set(wanted ${BUSBAR_INPUT_CHECKS})
  elseif(BUSBAR_READERS_ONLY)
    set(wanted OFF)
  else()
    set(wanted ON)
  endif()
  if(NOT wanted)  # still a target, for a room's settings of it, but neither built with all nor run
    set_target_properties(${name}_test PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  # PRE_TEST: building a test never runs it, and a test that was not built fails instead of being skipped.
  # Fifty cases of each property, other ones in every run; a program run by hand takes RapidCheck's hundred.
  gtest_discover_tests(${name}_test TEST_PREFIX ${name}/ WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} DISCOVERY_MODE PRE_TEST
                       DISCOVERY_TIMEOUT 120 PROPERTIES ENVIRONMENT RC_PARAMS=max_success=50)
endfunction()

# -ffp-contract=off: the same bytes out on every machine.
function(busbar_flags target scope)
  if(NOT scope STREQUAL INTERFACE)
    target_compile_options(${target} PRIVATE -Wall -Wextra -ffp-contract=off)
    # GCC 11 at -Og takes the content of an empty std::optional for read.
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    endif()
    if(BUSBAR_WERROR)
      target_compile_options(${target} PRIVATE -Werror)
    endif()
  endif()
endfunction()

# Finds what the tests need. Where BUSBAR_TESTS is AUTO it becomes ON or OFF in the scope of the caller.
macro(busbar_find_tests)
  if(BUSBAR_TESTS)
    set(needed REQUIRED)
    if(BUSBAR_TESTS STREQUAL "AUTO")
      set(needed QUIET)
    endif()
    find_package(GTest CONFIG ${needed})  # FindGTest of CMake 3.22 has no GMock
    find_package(rapidcheck CONFIG ${needed})
    find_program(BUSBAR_PYTHON NAMES python3)
    if(GTest_FOUND AND rapidcheck_FOUND AND BUSBAR_PYTHON)
      set(BUSBAR_TESTS ON)
      enable_testing()
      include(GoogleTest)
    elseif(BUSBAR_TESTS STREQUAL "AUTO")
      set(BUSBAR_TESTS OFF)
      message(STATUS "No tests: they need GoogleTest with GMock, rapidcheck and python3 "
                     "(Debian: libgtest-dev libgmock-dev librapidcheck-dev python3)")
    else()
      message(FATAL_ERROR "The tests need python3")
    endif()
  endif()
endmacro()

# Settings of every target of this build folder.
macro(busbar_global_flags)
  # For libbusbar.so, of the same objects as the command: docs/decisions/072-library.md has what it costs.
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(CMAKE_CXX_VISIBILITY_PRESET hidden)
  set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
  add_compile_options(-fno-semantic-interposition)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # collects garbage less often: a tenth less time, a tenth more memory
    add_compile_options(--param=ggc-min-expand=300)
  endif()
  if(BUSBAR_DCHECKS)
    add_compile_options(-UNDEBUG -D_GLIBCXX_ASSERTIONS)  # of containers and spans, too: indices in range, optionals full
  endif()
  if(BUSBAR_SANITIZE)
    add_compile_options(-fsanitize=${BUSBAR_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${BUSBAR_SANITIZE})
    if(BUSBAR_SANITIZE MATCHES undefined)  # a quarter of the compilation; the address sanitizer sees null pointers too
      add_compile_options(-fno-sanitize=null,alignment)
    endif()
  endif()
endmacro()

# Every header compiles alone: sources that include nothing but headers, in an order that shows it. tools/check_all builds it.
function(busbar_header_check)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/busbar/*.h)
  list(LENGTH headers count)
  math(EXPR count "${count} / 4")  # one source serves seven headers on average
  set(sources)
  foreach(number RANGE ${count})
    list(APPEND sources ${PROJECT_BINARY_DIR}/headers/${number}.cc)
  endforeach()
  list(LENGTH sources count)
  set(writer ${PROJECT_SOURCE_DIR}/tools/write_header_checks.py)
  add_custom_command(OUTPUT ${sources} DEPENDS ${headers} ${writer} ${PROJECT_SOURCE_DIR}/tools/check_standard_includes.py
                     VERBATIM COMMENT "Writing the header checks"
                     COMMAND ${BUSBAR_PYTHON} ${writer} ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/headers ${count})
  add_library(busbar_headers OBJECT EXCLUDE_FROM_ALL ${sources})
  set_target_properties(busbar_headers PROPERTIES UNITY_BUILD OFF)
  target_include_directories(busbar_headers PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(busbar_headers PRIVATE ${BUSBAR_FMT} yaml-cpp::yaml-cpp)
  target_compile_options(busbar_headers PRIVATE -O0 -g0 -Wall -Wextra)
  # Read once: that each header includes what it uses of them is what tools/check_standard_includes.py checks.
  target_precompile_headers(busbar_headers PRIVATE <algorithm> <array> <chrono> <functional> <map> <memory> <mutex> <optional>
                            <span> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector> <fmt/core.h>)
endfunction()

# The list of what the files NAME_<kind>.cc of a room make, each by a function NAME_<kind>(): collected_<kind>s() of
# internal/collected.h. A new file is in the list without an edit elsewhere.
function(busbar_collect room kind Type)
  get_target_property(built busbar_${room} IMPORTED)
  if(built)  # by another build folder, list and all
    return()
  endif()
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_${kind}.cc)
  set(declared "")
  set(listed "")
  foreach(path ${files})
    get_filename_component(name ${path} NAME_WE)
    string(APPEND declared "${Type} ${name}();\n")
    string(APPEND listed "${name}(), ")
  endforeach()
  set(made ${CMAKE_CURRENT_BINARY_DIR}/collected.cc)
  file(CONFIGURE OUTPUT ${made} @ONLY CONTENT
       "#include \"busbar/${room}/internal/collected.h\"\n\nnamespace busbar::${room} {\n${declared}\nstd::vector<${Type}> collected_${kind}s() { return {${listed}}; }\n\n}  // namespace busbar::${room}\n")
  target_sources(busbar_${room} PRIVATE ${made})
endfunction()

function(busbar_summary)
  get_property(rooms GLOBAL PROPERTY BUSBAR_ROOMS)
  list(JOIN rooms " " rooms)
  set(launcher "${CMAKE_CXX_COMPILER_LAUNCHER}")
  if(NOT launcher)
    set(launcher none)
  endif()
  set(sanitize "${BUSBAR_SANITIZE}")
  if(NOT sanitize)
    set(sanitize none)
  endif()
  message(STATUS "busbar ${PROJECT_VERSION}")
  message(STATUS "  compiler     ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, launcher ${launcher}")
  message(STATUS "  build        ${CMAKE_BUILD_TYPE}, sanitizers ${sanitize}, hot-loop checks ${BUSBAR_DCHECKS}")
  message(STATUS "  tests        ${BUSBAR_TESTS}, warnings are errors ${BUSBAR_WERROR}")
  message(STATUS "  libraries    fmt ${fmt_VERSION}, yaml-cpp ${yaml-cpp_VERSION}, nlohmann-json ${nlohmann_json_VERSION}, "
                 "pugixml ${pugixml_VERSION}, SQLite ${SQLite3_VERSION}, libarchive ${LibArchive_VERSION}")
  message(STATUS "  rooms        ${rooms}")
endfunction()

# Marks a test program as a reader of input: ./test also builds and runs it under the sanitizers.
function(busbar_reads_input target)
  if(NOT TARGET input_checks)
    add_custom_target(input_checks)
  endif()
  add_dependencies(input_checks ${target})
endfunction()
