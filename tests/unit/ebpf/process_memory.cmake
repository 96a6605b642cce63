# SPDX-License-Identifier: Apache-2.0
# Tests of receiver/ebpf/process_memory.
foreach(part frame_names kept_memory silent_owners)
	profcol_unit_test(ebpf_${part}_test SOURCES process_memory/${part}_test.c
		LIBRARIES profcol_ebpf_process_memory)
endforeach()
profcol_unit_test(ebpf_process_memory_test SOURCES process_memory/process_memory_test.c
	symbols/fake_host.c LIBRARIES profcol_ebpf_process_memory profcol_ebpf_worker)
