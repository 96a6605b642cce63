# SPDX-License-Identifier: Apache-2.0
# Builds for arm64 on another machine: --toolchain cmake/toolchain-aarch64.cmake. What the program
# is linked with lies unpacked in PROFCOL_SYSROOT (tests/kernels/arm64/sysroot.py makes one); the
# compiler and the C++ run-time library are Debian's cross compilers'.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

# Configurations that CMake makes on its own, to try the compiler, need it as well.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PROFCOL_SYSROOT)
set(PROFCOL_SYSROOT "" CACHE PATH "Root of the unpacked packages of the machine built for")
if(NOT IS_DIRECTORY "${PROFCOL_SYSROOT}/usr/include")
	message(FATAL_ERROR "PROFCOL_SYSROOT: no unpacked packages in '${PROFCOL_SYSROOT}'; "
		"tests/kernels/arm64/sysroot.py makes them and prints where")
endif()
set(CMAKE_SYSROOT ${PROFCOL_SYSROOT})

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

# Programs run here, everything else is the other machine's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${PROFCOL_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
	${PROFCOL_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${PROFCOL_SYSROOT}/usr/share/pkgconfig)
