# Toolchain: Debian's cross compiler for aarch64, the hosts of Ascend cards, with the arm64
# packages of the libraries unpacked in PROBE_ARM64_SYSROOT (tests/long/arm64 fills it).
#
#   cmake -S . -B build/arm64 -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/arm64.cmake
#         -DPROBE_ARM64_SYSROOT=... [-DPROBE_EMULATE=ON]
#
# With PROBE_EMULATE every program P is linked as P.aarch64, and P is a script that starts it in
# qemu. Tests start programs by name, and those start others; so all of them run on the build
# host as they stand, and nothing is registered with its kernel.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PROBE_ARM64_SYSROOT)
set(CMAKE_SYSROOT ${PROBE_ARM64_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${PROBE_ARM64_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${PROBE_ARM64_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${PROBE_ARM64_SYSROOT}/usr/share/pkgconfig)

if(PROBE_EMULATE)
  set(CMAKE_C_LINK_EXECUTABLE
      "<CMAKE_C_COMPILER> <FLAGS> <CMAKE_C_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET>.aarch64 <LINK_LIBRARIES>"
      "${CMAKE_CURRENT_LIST_DIR}/emulated ${PROBE_ARM64_SYSROOT} <TARGET>")
endif()
