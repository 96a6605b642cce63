# SPDX-License-Identifier: Apache-2.0
# Tests of receiver/ebpf/runtimes, a file or more for each runtime.
foreach(part attach lines offsets resolve tasks text)
	profcol_unit_test(runtime_cpython_${part}_test
		SOURCES runtimes/cpython_${part}_test.c runtimes/cpython_forged.c
		LIBRARIES profcol_ebpf_runtimes)
endforeach()

profcol_unit_test(runtime_cpython_layout_test SOURCES runtimes/cpython_layout_test.c
	symbols/elf_files.c LIBRARIES profcol_ebpf_worker)
target_include_directories(runtime_cpython_layout_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/symbols)

# See tests/e2e/python_lines_test.py.
add_executable(cpython_lines_tool runtimes/cpython_lines_tool.c)
target_include_directories(cpython_lines_tool PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(cpython_lines_tool PRIVATE profcol_ebpf_runtimes)

profcol_unit_test(runtime_go_labels_test SOURCES runtimes/go_labels_test.c unwind/made_elf.c
	unwind/made_pclntab.c LIBRARIES profcol_ebpf_runtimes)
profcol_unit_test(runtime_go_lines_test SOURCES runtimes/go_lines_test.c unwind/made_elf.c
	unwind/made_pclntab.c LIBRARIES profcol_ebpf_runtimes)

foreach(part code heaps offsets)
	profcol_unit_test(runtime_hotspot_${part}_test SOURCES runtimes/hotspot_${part}_test.c
		LIBRARIES profcol_ebpf_runtimes)
endforeach()

profcol_unit_test(runtime_hotspot_threads_test
	SOURCES runtimes/hotspot_threads_test.c runtimes/hotspot_forged_threads.c
		runtimes/hotspot_forged.c
	LIBRARIES profcol_ebpf_runtimes)

foreach(part names program)
	profcol_unit_test(runtime_hotspot_${part}_test
		SOURCES runtimes/hotspot_${part}_test.c runtimes/hotspot_forged.c
		LIBRARIES profcol_ebpf_runtimes)
endforeach()

profcol_unit_test(runtime_hotspot_layout_test SOURCES runtimes/hotspot_layout_test.c
	unwind/made_elf.c symbols/elf_files.c LIBRARIES profcol_ebpf_worker)
target_include_directories(runtime_hotspot_layout_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/symbols)

profcol_unit_test(runtime_toy_file_test SOURCES runtimes/toy_file_test.c
	unwind/made_elf.c symbols/elf_files.c LIBRARIES profcol_ebpf_worker)
target_include_directories(runtime_toy_file_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/symbols)

profcol_unit_test(runtime_toy_memory_test SOURCES runtimes/toy_memory_test.c
	LIBRARIES profcol_ebpf_runtimes)

foreach(part attach compiled positions resolve text)
	profcol_unit_test(runtime_v8_${part}_test
		SOURCES runtimes/v8_${part}_test.c runtimes/v8_forged.c
		LIBRARIES profcol_ebpf_runtimes)
endforeach()
