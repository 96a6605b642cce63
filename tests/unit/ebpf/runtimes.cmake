# SPDX-License-Identifier: Apache-2.0
# Tests of receiver/ebpf/runtimes, a file or more for each runtime.
profcol_unit_test(runtime_hotspot_heaps_test SOURCES runtimes/hotspot_heaps_test.c
	LIBRARIES profcol_ebpf_runtimes)

profcol_unit_test(runtime_hotspot_layout_test SOURCES runtimes/hotspot_layout_test.c
	unwind/made_elf.c symbols/elf_files.c LIBRARIES profcol_ebpf_worker)
target_include_directories(runtime_hotspot_layout_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/symbols)
