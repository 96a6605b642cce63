# SPDX-License-Identifier: Apache-2.0
# Walks that are finished in user space; what is known of the code is played by the test.
set(deferred ${CMAKE_SOURCE_DIR}/receiver/ebpf/deferred)

profcol_unit_test(ebpf_deferred_walk_test
	SOURCES deferred/walk_test.c ${deferred}/walk.c ${deferred}/../address_mask.c)
profcol_unit_test(ebpf_deferred_test
	SOURCES deferred/deferred_test.c ${deferred}/deferred.c ${deferred}/walk.c
		${deferred}/../address_mask.c)
foreach(test deferred_walk deferred)
	target_link_libraries(ebpf_${test}_test PRIVATE profcol_bpf_perf_event)
	target_include_directories(ebpf_${test}_test PRIVATE ${CMAKE_SOURCE_DIR}/receiver/ebpf)
endforeach()
