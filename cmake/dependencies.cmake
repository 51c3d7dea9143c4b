# Libraries from Debian; docs/dependencies.md says why each.
find_package(PkgConfig REQUIRED)
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
# Optional: without it the server of the online pre-check has neither TLS nor MD5 checksums.
find_package(OpenSSL 3.0)
find_library(SLEEF_LIBRARY sleef REQUIRED)
# OpenBLAS is loaded when the program runs (bench/arithmetic/blas.h), by the name that linking would record.
find_library(OPENBLAS_LIBRARY openblas REQUIRED)
execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${OPENBLAS_LIBRARY} OUTPUT_VARIABLE openblas_headers ERROR_QUIET)
if(NOT openblas_headers MATCHES "SONAME +([^ \n]+)")
  message(FATAL_ERROR "${OPENBLAS_LIBRARY} is no shared library")
endif()
set(OPENBLAS_SONAME ${CMAKE_MATCH_1})
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
endif()
if(ARB_INCLUDE_DIR MATCHES "/flint$")
  include_directories(SYSTEM ${ARB_INCLUDE_DIR})
endif()
# Optional: without it there is no live view (--http).
pkg_check_modules(MICROHTTPD IMPORTED_TARGET libmicrohttpd)
