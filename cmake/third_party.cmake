# SPDX-License-Identifier: Apache-2.0
# Third-party libraries as imported targets `third_party::NAME`, from Debian's static
# archives: the program then needs nothing but libc at run time.

find_package(PkgConfig REQUIRED)

function(profcol_third_party name header archive)
	find_path(${name}_INCLUDE ${header} REQUIRED)
	find_library(${name}_ARCHIVE NAMES ${archive} REQUIRED)
	add_library(third_party::${name} STATIC IMPORTED GLOBAL)
	set_target_properties(third_party::${name} PROPERTIES
		IMPORTED_LOCATION ${${name}_ARCHIVE}
		INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE}
		INTERFACE_LINK_LIBRARIES "${ARGN}")
endfunction()

profcol_third_party(z zlib.h libz.a)
profcol_third_party(elf libelf.h libelf.a third_party::z)
profcol_third_party(bpf bpf/libbpf.h libbpf.a third_party::elf)
profcol_third_party(yaml yaml.h libyaml.a)
profcol_third_party(nanopb pb_encode.h libprotobuf-nanopb.a)
profcol_third_party(protobuf_c protobuf-c/protobuf-c.h libprotobuf-c.a)
profcol_third_party(deflate libdeflate.h libdeflate.a)
profcol_third_party(iberty libiberty/demangle.h libiberty.a)
profcol_third_party(cap sys/capability.h libcap.a)
profcol_third_party(seccomp seccomp.h libseccomp.a)
profcol_third_party(nettle nettle/sha2.h libnettle.a)

# gRPC's C core. It is C++ inside: its archives, in one group since they refer to each other, and
# the C++ run-time library are linked statically too, so that a C program can use it.
pkg_check_modules(GRPC REQUIRED grpc)
execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --static --libs-only-l grpc
	OUTPUT_VARIABLE GRPC_LINK_NAMES OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(GRPC_LINK_NAMES)
list(REMOVE_DUPLICATES GRPC_LINK_NAMES)
set(GRPC_ARCHIVES "")
foreach(option IN LISTS GRPC_LINK_NAMES)
	string(REGEX REPLACE "^-l" "" name ${option})
	find_library(${name}_IN_GRPC NAMES lib${name}.a)
	# What has no archive is part of libc, or of the compiler.
	if(${name}_IN_GRPC)
		list(APPEND GRPC_ARCHIVES ${${name}_IN_GRPC})
	endif()
	mark_as_advanced(${name}_IN_GRPC)
endforeach()
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libstdc++.a
	OUTPUT_VARIABLE STDCXX_ARCHIVE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT IS_ABSOLUTE "${STDCXX_ARCHIVE}")
	message(FATAL_ERROR "there is no libstdc++.a, which gRPC needs; install g++")
endif()
add_library(third_party::grpc INTERFACE IMPORTED GLOBAL)
target_link_libraries(third_party::grpc INTERFACE
	"$<LINK_GROUP:RESCAN,${GRPC_ARCHIVES}>" ${STDCXX_ARCHIVE} m)
target_link_options(third_party::grpc INTERFACE -static-libgcc)
