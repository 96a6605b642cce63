# SPDX-License-Identifier: Apache-2.0
# Tests of receiver/ebpf/symbols and receiver/ebpf/worker. The ELF files they read are built here,
# by the compiler but without the build's own flags (sanitizers, sections); nm is the oracle.
set(symbols_folder ${CMAKE_CURRENT_LIST_DIR}/symbols)
set(symbols_files ${CMAKE_CURRENT_BINARY_DIR}/symbols)
file(MAKE_DIRECTORY ${symbols_files})

set(symbols_compile ${CMAKE_C_COMPILER} -O1 ${symbols_folder}/fixture.c
	-Wl,--build-id=0x0123456789abcdef -o)
set(symbols_nm ${CMAKE_NM} --defined-only)
find_program(XZ_PROGRAM xz REQUIRED)
mark_as_advanced(XZ_PROGRAM)
add_custom_command(
	OUTPUT ${symbols_files}/full.so ${symbols_files}/full.so.nm
		${symbols_files}/stripped.so ${symbols_files}/stripped.so.nm
		${symbols_files}/fixed ${symbols_files}/fixed.nm
		${symbols_files}/static_pie ${symbols_files}/static_pie.nm
	COMMAND ${symbols_compile} full.so -fPIC -shared
	COMMAND ${symbols_compile} fixed -fno-pie -no-pie
	COMMAND ${symbols_compile} static_pie -fPIE -static-pie
	COMMAND ${CMAKE_STRIP} -s -o stripped.so full.so
	COMMAND ${symbols_nm} full.so > full.so.nm
	COMMAND ${symbols_nm} -D stripped.so > stripped.so.nm
	COMMAND ${symbols_nm} fixed > fixed.nm
	COMMAND ${symbols_nm} static_pie > static_pie.nm
	WORKING_DIRECTORY ${symbols_files}
	DEPENDS ${symbols_folder}/fixture.c
	COMMENT "ELF files for tests"
	VERBATIM)

# Files whose functions have their names in one place only: in a debug file that is found by the
# build id, in one that is found by its name and has no build id, in .gnu_debugdata (which leaves
# out what .dynsym has).
set(symbols_32_bit "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64")
	set(symbols_32_bit -m32)
endif()
add_custom_command(
	OUTPUT ${symbols_files}/full.debug ${symbols_files}/other.debug
		${symbols_files}/linked.so ${symbols_files}/linked.debug ${symbols_files}/mini.so
		${symbols_files}/narrow.so ${symbols_files}/narrow.so.nm ${symbols_files}/static_stripped
	COMMAND ${CMAKE_OBJCOPY} --only-keep-debug full.so full.debug
	COMMAND ${CMAKE_STRIP} -s -o static_stripped static_pie
	COMMAND ${CMAKE_C_COMPILER} -O1 ${symbols_folder}/fixture.c -fPIC -shared
		-Wl,--build-id=0xfedcba9876543210 -o other.debug
	COMMAND ${CMAKE_C_COMPILER} -O1 ${symbols_folder}/fixture.c -fPIC -shared
		-Wl,--build-id=none -o linked.full
	COMMAND ${CMAKE_OBJCOPY} --only-keep-debug linked.full linked.debug
	COMMAND ${CMAKE_OBJCOPY} -S --add-gnu-debuglink=linked.debug linked.full linked.so
	COMMAND ${CMAKE_OBJCOPY} --strip-symbol=fixture_plain full.debug mini.debug
	COMMAND ${XZ_PROGRAM} -kf mini.debug
	COMMAND ${CMAKE_OBJCOPY} --add-section .gnu_debugdata=mini.debug.xz stripped.so mini.so
	COMMAND ${CMAKE_C_COMPILER} ${symbols_32_bit} -O1 ${symbols_folder}/fixture.c -fPIC -shared
		-nostdlib -o narrow.so
	COMMAND ${symbols_nm} narrow.so > narrow.so.nm
	WORKING_DIRECTORY ${symbols_files}
	DEPENDS ${symbols_files}/full.so ${symbols_files}/stripped.so ${symbols_files}/static_pie
	COMMENT "ELF files with debug files for tests"
	VERBATIM)
add_custom_target(symbols_fixtures DEPENDS ${symbols_files}/full.so ${symbols_files}/full.debug)

function(profcol_symbols_test name)
	list(TRANSFORM ARGN PREPEND ${symbols_folder}/)
	profcol_unit_test(${name} SOURCES ${symbols_folder}/${name}.c ${ARGN}
		LIBRARIES profcol_ebpf_symbols profcol_ebpf_worker)
	target_compile_definitions(${name} PRIVATE SYMBOLS_FILES="${symbols_files}")
	add_dependencies(${name} symbols_fixtures)
endfunction()

profcol_symbols_test(answer_read_test)
profcol_symbols_test(demangle_test)
profcol_symbols_test(elf_image_test elf_files.c)
profcol_symbols_test(function_ranges_test)
profcol_symbols_test(function_sources_test elf_files.c)
target_link_libraries(function_sources_test PRIVATE third_party::z third_party::zstd)
profcol_symbols_test(kernel_names_test)
profcol_symbols_test(kernel_test)
profcol_symbols_test(known_files_test)
profcol_symbols_test(sandbox_test)
profcol_symbols_test(symbols_test elf_files.c fake_host.c ../unwind/made_elf.c
	../unwind/made_pclntab.c)
profcol_symbols_test(worker_pool_test fake_host.c)
profcol_passes_time(symbols_test)
profcol_passes_time(worker_pool_test)
