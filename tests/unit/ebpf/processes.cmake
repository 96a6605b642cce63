# SPDX-License-Identifier: Apache-2.0
# Which processes exist, what they have mapped, and the files behind it.
foreach(test changes code code_ends environment file_numbers file_rows files htlhash memory_open owner packages proc_thread records
		read_time resolve root_files shares stack_read table text timed_calls)
	profcol_unit_test(processes_${test}_test SOURCES processes/${test}_test.c
		LIBRARIES profcol_ebpf_processes)
endforeach()

profcol_unit_test(processes_file_identity_test SOURCES processes/file_identity_test.c
	processes/fuse_file.c LIBRARIES profcol_ebpf_processes)

profcol_passes_time(processes_resolve_test)

# The kernel side, and time, are made up by the test.
profcol_unit_test(processes_watch_ends_test SOURCES processes/watch_ends_test.c
	LIBRARIES profcol_ebpf_processes)
target_link_options(processes_watch_ends_test PRIVATE -Wl,--wrap=clock_monotonic_ns)

# The program the live tests run: small, so that it starts and ends within milliseconds.
add_executable(processes_target processes/target.c)
target_compile_options(processes_target PRIVATE -fno-sanitize=all)
target_link_options(processes_target PRIVATE -fno-sanitize=all)

foreach(test live live_changes)
	profcol_unit_test(processes_${test}_test SOURCES processes/${test}_test.c processes/live.c
		LIBRARIES profcol_ebpf_processes)
	target_compile_definitions(processes_${test}_test PRIVATE
		PROCESSES_TARGET="$<TARGET_FILE:processes_target>")
	add_dependencies(processes_${test}_test processes_target)
	# They take a CPU offline for a moment, and watch the whole machine.
	set_tests_properties(processes_${test}_test PROPERTIES RUN_SERIAL ON)
endforeach()
