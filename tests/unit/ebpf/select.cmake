# SPDX-License-Identifier: Apache-2.0
# Which processes are profiled. What is known of processes is played by select_test.c.
foreach(test rules select)
	profcol_unit_test(ebpf_select_${test}_test SOURCES select/${test}_test.c
		LIBRARIES profcol_ebpf_select)
endforeach()
