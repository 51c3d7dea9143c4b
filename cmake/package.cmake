# A Debian package of what `cmake --install` installs; tests/long/package makes one and tries it in a
# fresh system.
#
#   cmake -S . -B build/package -G Ninja -DPROBE_DEBIAN=ON -DPROBE_MAINTAINER="Name <name@host>" &&
#   cmake --build build/package
#   cd build/package && cpack
#
# With PROBE_DEBIAN the manual page is compressed and the files that every package of Debian has are
# there: changelog and copyright. The package depends on the libraries that the program is linked with or loads.
if(PROBE_DEBIAN)
  find_program(GZIP gzip REQUIRED)
  set(documents ${CMAKE_INSTALL_DATADIR}/doc/probe-ut)
  string(TIMESTAMP package_date "%a, %d %b %Y %H:%M:%S +0000" UTC) # or SOURCE_DATE_EPOCH
  # Debian wants a name and an address (Policy 5.6.2). The project publishes none: the default is in the
  # domain that never exists (RFC 2606), and whoever hands packages to others puts their own.
  set(PROBE_MAINTAINER "The probe-ut authors <probe-ut@packages.invalid>" CACHE STRING
      "Who answers for the Debian package: Name <address>")
  set(package_maintainer ${PROBE_MAINTAINER})
  configure_file(${CMAKE_SOURCE_DIR}/cmake/debian/changelog.in ${CMAKE_BINARY_DIR}/changelog @ONLY)
  add_custom_command(TARGET probe-ut POST_BUILD
                     COMMAND ${GZIP} -9nkf ${CMAKE_BINARY_DIR}/changelog ${CMAKE_BINARY_DIR}/probe-ut.1
                     VERBATIM)
  install(FILES ${CMAKE_BINARY_DIR}/probe-ut.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_BINARY_DIR}/changelog.gz ${CMAKE_SOURCE_DIR}/cmake/debian/copyright
          DESTINATION ${documents})
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME probe-ut)
set(CPACK_PACKAGE_CONTACT "${package_maintainer}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "precision checker for deep-learning kernels")
set(CPACK_PACKAGE_DESCRIPTION
    "probe-ut reads the recorded API calls of a training step, computes what each
call should return with a proven bound on the error, and judges what an
accelerator, a kernel library or a framework returns. It reads and writes the
files of msprobe's accuracy pre-check.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What is loaded and not linked, dpkg-shlibdeps does not see: the packages that have these libraries here. Any build of
# OpenBLAS will do.
set(CPACK_DEBIAN_PACKAGE_DEPENDS libopenblas0)
if(PROBE_DEBIAN)
  foreach(library ${BALL_SONAME} ${OPENSSL_SONAME} ${MICROHTTPD_SONAME})
    execute_process(COMMAND dpkg-query --search */${library} OUTPUT_VARIABLE owner COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX REPLACE "[:,].*" "" owner ${owner})
    string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", ${owner}")
  endforeach()
endif()
# What --backend torch runs; every other backend does without.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS python3-torch)
include(CPack)
