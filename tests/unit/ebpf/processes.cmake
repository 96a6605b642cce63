# SPDX-License-Identifier: Apache-2.0
# Which processes exist, what they have mapped, and the files behind it.
foreach(test environment text records table files)
	profcol_unit_test(processes_${test}_test SOURCES processes/${test}_test.c
		LIBRARIES profcol_ebpf_processes)
endforeach()

# The program the live tests run: small, so that it starts and ends within milliseconds.
add_executable(processes_target processes/target.c)
target_compile_options(processes_target PRIVATE -fno-sanitize=all)
target_link_options(processes_target PRIVATE -fno-sanitize=all)

profcol_unit_test(processes_live_test SOURCES processes/live_test.c
	LIBRARIES profcol_ebpf_processes)
target_compile_definitions(processes_live_test PRIVATE
	PROCESSES_TARGET="$<TARGET_FILE:processes_target>")
add_dependencies(processes_live_test processes_target)
# It takes a CPU offline for a moment, and watches the whole machine.
set_tests_properties(processes_live_test PROPERTIES RUN_SERIAL ON)
