# SPDX-License-Identifier: Apache-2.0
# profcol_bpf_skeleton(TARGET SOURCE.bpf.c HEADER...)
#
# Compiles a BPF program and turns it into `<name>.skel.h` (bpftool), which users of
# the interface library TARGET include. HEADERs are what the source includes. A test compiles it for
# arm64, too, where that is another machine.
find_program(BPF_CLANG NAMES clang-19 clang-20 clang-21 clang-22 REQUIRED)
find_program(BPF_STRIP NAMES llvm-strip-19 llvm-strip-20 llvm-strip-21 llvm-strip-22 REQUIRED)
find_program(BPFTOOL NAMES bpftool PATHS /usr/sbin /sbin REQUIRED)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64")
	set(BPF_ARCHITECTURE x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
	set(BPF_ARCHITECTURE arm64)
else()
	message(FATAL_ERROR "profcol runs on amd64 and arm64, not on ${CMAKE_SYSTEM_PROCESSOR}")
endif()

# What the sources have for arm64 only is compiled by nobody else before an image is made for it.
function(profcol_bpf_test_arm64 source name)
	set(headers /usr/aarch64-linux-gnu/include) # of linux-libc-dev-arm64-cross
	if(NOT PROFCOL_TESTS OR BPF_ARCHITECTURE STREQUAL "arm64")
		return()
	endif()
	add_test(NAME bpf_arm64_${name}
		COMMAND ${BPF_CLANG} ${ARGN} -D__TARGET_ARCH_arm64 -I${headers}
			-c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o /dev/null)
	if(NOT EXISTS ${headers}/asm/ptrace.h)
		set_tests_properties(bpf_arm64_${name} PROPERTIES DISABLED ON)
	endif()
endfunction()

function(profcol_bpf_skeleton target source)
	get_filename_component(name ${source} NAME)
	string(REPLACE ".bpf.c" "" name ${name})
	set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
	set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/${name}.skel.h)
	# Headers of the machine that is built for, which need not be this one.
	set(sysroot)
	if(CMAKE_SYSROOT)
		set(sysroot --sysroot=${CMAKE_SYSROOT})
	endif()
	set(options -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror
		-I${CMAKE_CURRENT_SOURCE_DIR})
	if(PROFCOL_TESTS)
		list(APPEND options -DPROFCOL_TOY_RUNTIME)
	endif()
	profcol_bpf_test_arm64(${source} ${name} ${options})
	add_custom_command(
		OUTPUT ${skeleton}
		COMMAND ${BPF_CLANG} ${options} -D__TARGET_ARCH_${BPF_ARCHITECTURE}
			${sysroot} -I${CMAKE_SYSROOT}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
			-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.
			-c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
		COMMAND ${BPF_STRIP} -g ${object}
		COMMAND ${BPFTOOL} gen skeleton ${object} name ${name}_bpf > ${skeleton}
		DEPENDS ${source} ${ARGN}
		COMMENT "BPF ${name}"
		VERBATIM)
	add_custom_target(${target}_generated DEPENDS ${skeleton})
	add_library(${target} INTERFACE)
	add_dependencies(${target} ${target}_generated)
	target_include_directories(${target} SYSTEM INTERFACE ${CMAKE_CURRENT_BINARY_DIR})
	target_include_directories(${target} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
	target_link_libraries(${target} INTERFACE third_party::bpf)
endfunction()
