# Libraries from Debian; docs/dependencies.md says why each.
find_package(PkgConfig REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(FFI REQUIRED IMPORTED_TARGET libffi)
pkg_check_modules(MPFR REQUIRED IMPORTED_TARGET mpfr)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(EXPAT REQUIRED IMPORTED_TARGET expat)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
# Optional: without it results are .csv only.
pkg_check_modules(XLSXWRITER IMPORTED_TARGET xlsxwriter)
# Optional: without it graphs are written as .vis and .html only.
pkg_check_modules(SQLITE IMPORTED_TARGET sqlite3)
find_library(SLEEF_LIBRARY sleef REQUIRED)
find_library(OPENBLAS_LIBRARY openblas REQUIRED)
find_library(ARB_LIBRARY NAMES flint-arb arb REQUIRED)
find_library(FLINT_LIBRARY flint REQUIRED)
set(FLINT_ARB_LIBRARIES ${ARB_LIBRARY} ${FLINT_LIBRARY})
