# SPDX-License-Identifier: Apache-2.0
# Tests of receiver/ebpf/page_cache, with the ELF files of worker.cmake and symbols.cmake.
set(page_cache_folder ${CMAKE_CURRENT_LIST_DIR}/page_cache)
function(profcol_page_cache_test name)
	profcol_unit_test(${name} SOURCES ${page_cache_folder}/${name}.c
		${page_cache_folder}/kept_file.c ${ARGN} LIBRARIES profcol_ebpf_page_cache)
	target_include_directories(${name} PRIVATE ${page_cache_folder}
		${CMAKE_CURRENT_LIST_DIR}/symbols)
	# Small and large programs that every machine has on which this is built.
	target_compile_definitions(${name} PRIVATE SMALL_FILE="/bin/sh"
		LARGE_FILE="${CMAKE_COMMAND}")
endfunction()

profcol_page_cache_test(cache_entry_test)
profcol_page_cache_test(page_cache_test ${CMAKE_CURRENT_LIST_DIR}/symbols/fake_host.c)
