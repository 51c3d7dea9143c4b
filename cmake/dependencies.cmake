# Libraries from Debian; docs/dependencies.md says why each.
find_package(PkgConfig REQUIRED)
# The name of a library that is loaded when the program runs: the one that linking would record.
function(late_library_name out library)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE headers ERROR_QUIET)
  if(NOT headers MATCHES "SONAME +([^ \n]+)")
    message(FATAL_ERROR "${library} is no shared library")
  endif()
  set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()
find_package(ZLIB REQUIRED)
pkg_check_modules(FFI REQUIRED IMPORTED_TARGET libffi)
pkg_check_modules(MPFR REQUIRED IMPORTED_TARGET mpfr)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(EXPAT REQUIRED IMPORTED_TARGET expat)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
# Optional: without it the checksums of archives are zlib's, which are slower.
pkg_check_modules(DEFLATE IMPORTED_TARGET libdeflate)
# Optional: without it graphs are written as .vis and .html only.
pkg_check_modules(SQLITE IMPORTED_TARGET sqlite3)
if(SQLITE_FOUND)
  list(GET SQLITE_LINK_LIBRARIES 0 library)
  late_library_name(SQLITE_SONAME ${library}) # graph/sqlite_library.h
endif()
# Optional: without it the server of the online pre-check has neither TLS nor MD5 checksums.
find_package(OpenSSL 3.0)
if(OPENSSL_FOUND)
  late_library_name(OPENSSL_SONAME ${OPENSSL_SSL_LIBRARY}) # online/tls_library.h
endif()
find_library(SLEEF_LIBRARY sleef REQUIRED)
find_library(OPENBLAS_LIBRARY openblas REQUIRED)
late_library_name(OPENBLAS_SONAME ${OPENBLAS_LIBRARY}) # bench/arithmetic/blas.h
find_library(FLINT_LIBRARY flint REQUIRED)
# Arb is a library of its own beside FLINT 2 (libflint-arb on Debian, libarb elsewhere) and a part of
# FLINT 3, whose headers lie in a folder. A FLINT 2 without Arb is not enough.
find_library(ARB_LIBRARY NAMES flint-arb arb)
find_path(ARB_INCLUDE_DIR arb.h PATH_SUFFIXES flint)
if(NOT ARB_INCLUDE_DIR)
  message(FATAL_ERROR "arb.h was not found: install Arb (libflint-arb-dev, arb-devel) or FLINT 3")
endif()
set(FLINT_ARB_LIBRARIES ${FLINT_LIBRARY})
if(ARB_LIBRARY)
  list(PREPEND FLINT_ARB_LIBRARIES ${ARB_LIBRARY})
  late_library_name(BALL_SONAME ${ARB_LIBRARY}) # bench/arithmetic/ball_library.h
endif()
if(ARB_INCLUDE_DIR MATCHES "/flint$")
  include_directories(SYSTEM ${ARB_INCLUDE_DIR})
endif()
# Optional: without it there is no live view (--http).
pkg_check_modules(MICROHTTPD IMPORTED_TARGET libmicrohttpd)
if(MICROHTTPD_FOUND)
  list(GET MICROHTTPD_LINK_LIBRARIES 0 library)
  late_library_name(MICROHTTPD_SONAME ${library}) # online/http_library.h
endif()
