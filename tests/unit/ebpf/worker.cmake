# SPDX-License-Identifier: Apache-2.0
# Tests of the pages that receiver/ebpf/worker answers with. They read files of this machine, and
# one that is built here; symbols.cmake has those about functions, and the sandbox.
set(worker_folder ${CMAKE_CURRENT_LIST_DIR}/worker)
set(worker_files ${CMAKE_CURRENT_BINARY_DIR}/worker)
file(MAKE_DIRECTORY ${worker_files})
add_custom_command(
	OUTPUT ${worker_files}/crowded.so
	COMMAND ${CMAKE_C_COMPILER} -nostdlib -shared -o ${worker_files}/crowded.so
		${worker_folder}/crowded.S
	DEPENDS ${worker_folder}/crowded.S
	COMMENT "ELF files for tests"
	VERBATIM)
add_custom_target(worker_fixtures DEPENDS ${worker_files}/crowded.so)
find_program(GO_PROGRAM go PATHS /usr/local/go/bin)
mark_as_advanced(GO_PROGRAM)

function(profcol_worker_test name)
	profcol_unit_test(${name} SOURCES ${worker_folder}/${name}.c ${ARGN}
		LIBRARIES profcol_ebpf_worker)
	target_include_directories(${name} PRIVATE ${worker_folder} ${symbols_folder})
	# A large file that every machine has on which this is built, and a Go program if there is one.
	target_compile_definitions(${name} PRIVATE WORKER_FILES="${worker_files}"
		LARGE_FILE="${CMAKE_COMMAND}" GO_FILE="$<$<BOOL:${GO_PROGRAM}>:${GO_PROGRAM}>")
	add_dependencies(${name} worker_fixtures)
endfunction()

execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libc.so.6
	OUTPUT_VARIABLE c_library OUTPUT_STRIP_TRAILING_WHITESPACE)
profcol_worker_test(calls_oracle_test)
target_link_libraries(calls_oracle_test PRIVATE profcol_ebpf_tables)
target_compile_definitions(calls_oracle_test PRIVATE C_LIBRARY="${c_library}")
profcol_worker_test(foreign_file_test)
profcol_worker_test(foreign_memory_test)
profcol_worker_test(pages_read_test ${worker_folder}/promises.c)
profcol_worker_test(pages_test ${worker_folder}/page_rules.c ${worker_folder}/promises.c
	${symbols_folder}/elf_files.c)
profcol_worker_test(code_map_test)
profcol_worker_test(memory_answer_test)
profcol_worker_test(rule_list_test)
profcol_worker_test(stuck_test)
profcol_worker_test(worker_pages_test ${worker_folder}/page_rules.c ${symbols_folder}/fake_host.c)
profcol_passes_time(worker_pages_test)
