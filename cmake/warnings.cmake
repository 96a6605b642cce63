# SPDX-License-Identifier: Apache-2.0
# Language, warnings and sanitizers for all of our own C.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE Release)
endif()

add_compile_definitions(_GNU_SOURCE)
add_compile_options(
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
	-Wcast-qual -Wvla -Wno-missing-field-initializers
	-fvisibility=hidden -fno-omit-frame-pointer
	-ffunction-sections -fdata-sections
	-fno-semantic-interposition) # what we export, nobody replaces
# Who counts coverage looks for the sources by their whole paths.
if(NOT CMAKE_C_FLAGS MATCHES "--coverage")
	add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
endif()
add_link_options(-Wl,--gc-sections -Wl,-z,relro,-z,now)
# Each process reads all relocations of the program; packed, they take a hundredth of the memory.
include(CheckLinkerFlag)
check_linker_flag(C -Wl,-z,pack-relative-relocs PROFCOL_HAS_PACKED_RELOCATIONS)
if(PROFCOL_HAS_PACKED_RELOCATIONS)
	add_link_options(-Wl,-z,pack-relative-relocs)
endif()
if(PROFCOL_WERROR)
	add_compile_options(-Werror)
endif()
if(PROFCOL_FUZZ)
	add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(PROFCOL_SANITIZE)
	add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all)
	add_link_options(-fsanitize=address,undefined)
else()
	add_compile_options(-D_FORTIFY_SOURCE=3 -fstack-protector-strong)
endif()
# What stands in the way of who has found a fault: a stack that does not jump over its guard page,
# and, where the processor has them, returns and indirect calls that go where they may.
include(CheckCCompilerFlag)
foreach(flag -fstack-clash-protection -fcf-protection=full -mbranch-protection=standard)
	string(MAKE_C_IDENTIFIER PROFCOL_HAS${flag} known)
	check_c_compiler_flag(${flag} ${known})
	if(${known})
		add_compile_options(${flag})
	endif()
endforeach()
