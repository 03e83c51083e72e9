# Read by cpack before it makes packages. Without these programs it would make packages without dependencies.
if(CPACK_GENERATOR STREQUAL "DEB")
  find_program(BUSBAR_FILE file)
  find_program(BUSBAR_SHLIBDEPS dpkg-shlibdeps)
  if(NOT BUSBAR_FILE OR NOT BUSBAR_SHLIBDEPS)
    message(FATAL_ERROR "Debian packages need the programs file and dpkg-shlibdeps: apt-get install file dpkg-dev")
  endif()
endif()
