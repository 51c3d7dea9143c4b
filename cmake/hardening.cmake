# What makes a mistake in the handling of foreign bytes harder to exploit, for every program and
# library. tests/analysis/hardening reads the result out of the linked program. Each flag is used
# where the compiler takes it for the machine it compiles for: -mbranch-protection (signed return
# addresses) is aarch64's. x86-64's counterpart, -fcf-protection, has no effect with the start-up
# objects of Debian 12, which are not marked for it.
include(CheckCCompilerFlag)
include(CheckPIESupported)

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
check_pie_supported(LANGUAGES C) # without it CMake compiles for -pie and does not link with it

foreach(flag -fstack-protector-strong -fstack-clash-protection -mbranch-protection=standard)
  string(MAKE_C_IDENTIFIER "HARDENING${flag}" known)
  set(CMAKE_REQUIRED_FLAGS -Werror) # clang only warns about a flag that the machine lacks
  check_c_compiler_flag(${flag} ${known})
  unset(CMAKE_REQUIRED_FLAGS)
  if(${known})
    add_compile_options(${flag})
  endif()
endforeach()
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)

# Level 3 also checks sizes that are known only at run time. The C library refuses to do it
# without optimisation, and the sanitizers of the Debug builds check more.
add_compile_definitions($<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=3>)
