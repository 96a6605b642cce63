# SPDX-License-Identifier: Apache-2.0
# Third-party libraries as imported targets `third_party::NAME`, from Debian's static
# archives: the program then needs nothing but libc at run time. Some archives can be part of a
# program only, not of a shared object: a plugin has these as shared libraries.

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

# As above, for an archive whose code is not for shared objects.
function(profcol_third_party_program_only name header library)
	profcol_third_party(${name}_archive ${header} lib${library}.a ${ARGN})
	find_library(${name}_SHARED NAMES lib${library}.so REQUIRED)
	add_library(third_party::${name} INTERFACE IMPORTED GLOBAL)
	target_link_libraries(third_party::${name} INTERFACE
		$<IF:$<BOOL:$<TARGET_PROPERTY:PROFCOL_IS_PLUGIN>>,${${name}_SHARED},third_party::${name}_archive>)
	target_include_directories(third_party::${name} INTERFACE ${${name}_archive_INCLUDE})
endfunction()

profcol_third_party(z zlib.h libz.a)
profcol_third_party_program_only(elf libelf.h elf third_party::z)
profcol_third_party_program_only(bpf bpf/libbpf.h bpf third_party::elf)
profcol_third_party(yaml yaml.h libyaml.a)
profcol_third_party(yajl yajl/yajl_parse.h libyajl_s.a)
profcol_third_party_program_only(jansson jansson.h jansson)
profcol_third_party(nanopb pb_encode.h libprotobuf-nanopb.a)
profcol_third_party(protobuf_c protobuf-c/protobuf-c.h libprotobuf-c.a)
profcol_third_party(deflate libdeflate.h libdeflate.a)
profcol_third_party(lzma lzma.h liblzma.a)
profcol_third_party_program_only(zstd zstd.h zstd)
profcol_third_party(iberty libiberty/demangle.h libiberty.a)
profcol_third_party(cap sys/capability.h libcap.a)
profcol_third_party(seccomp seccomp.h libseccomp.a)
profcol_third_party(nettle nettle/sha2.h libnettle.a)
profcol_third_party(pcre2 pcre2.h libpcre2-8.a)

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
add_library(third_party::grpc_archives INTERFACE IMPORTED GLOBAL)
target_link_libraries(third_party::grpc_archives INTERFACE
	"$<LINK_GROUP:RESCAN,${GRPC_ARCHIVES}>" ${STDCXX_ARCHIVE} m)
target_link_options(third_party::grpc_archives INTERFACE -static-libgcc)
# One of the archives is for programs only. The libraries below are what lib/net calls.
add_library(third_party::grpc_shared INTERFACE IMPORTED GLOBAL)
foreach(name IN ITEMS grpc gpr ssl crypto)
	find_library(${name}_OF_GRPC NAMES lib${name}.so REQUIRED)
	target_link_libraries(third_party::grpc_shared INTERFACE ${${name}_OF_GRPC})
	mark_as_advanced(${name}_OF_GRPC)
endforeach()
target_link_options(third_party::grpc_shared INTERFACE -Wl,--as-needed)
add_library(third_party::grpc INTERFACE IMPORTED GLOBAL)
target_link_libraries(third_party::grpc INTERFACE
	$<IF:$<BOOL:$<TARGET_PROPERTY:PROFCOL_IS_PLUGIN>>,third_party::grpc_shared,third_party::grpc_archives>)

# libevent: the loop and its streams, also those in TLS. Its evhttp is not used.
profcol_third_party_program_only(crypto openssl/crypto.h crypto)
profcol_third_party_program_only(ssl openssl/ssl.h ssl third_party::crypto)
profcol_third_party_program_only(event event2/event.h event_core)
profcol_third_party_program_only(event_openssl event2/bufferevent_ssl.h event_openssl
	third_party::event third_party::ssl)

# HTTP/2. Two bounds against attacks came as security fixes to versions that do not tell by their
# number whether they have them.
include(CheckSymbolExists)
profcol_third_party_program_only(nghttp2 nghttp2/nghttp2.h nghttp2)
foreach(bound IN ITEMS nghttp2_option_set_stream_reset_rate_limit
		nghttp2_option_set_max_continuations)
	set(CMAKE_REQUIRED_INCLUDES ${nghttp2_archive_INCLUDE})
	set(CMAKE_REQUIRED_LIBRARIES ${nghttp2_archive_ARCHIVE})
	check_symbol_exists(${bound} nghttp2/nghttp2.h HAVE_${bound})
	if(NOT HAVE_${bound})
		message(FATAL_ERROR "libnghttp2 has no ${bound}(): install the security update of "
			"libnghttp2-dev (Debian 12: 1.52.0-1+deb12u2 or later)")
	endif()
endforeach()
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_LIBRARIES)
