# SPDX-License-Identifier: Apache-2.0
profcol_unit_test(ebpf_event_budget_test SOURCES events/event_budget_test.c LIBRARIES m)
profcol_unit_test(ebpf_wait_reason_test SOURCES events/wait_reason_test.c
	${CMAKE_SOURCE_DIR}/receiver/ebpf/events/wait_reason.c)
foreach(test event_budget wait_reason)
	target_include_directories(ebpf_${test}_test PRIVATE ${CMAKE_SOURCE_DIR}/receiver/ebpf
		${CMAKE_SOURCE_DIR}/bpf)
endforeach()
profcol_unit_test(ebpf_unfinished_test SOURCES events/unfinished_test.c
	${CMAKE_SOURCE_DIR}/receiver/ebpf/events/unfinished.c LIBRARIES profcol_ebpf_perf profcol_bpf_perf_event third_party::bpf)
target_include_directories(ebpf_unfinished_test PRIVATE ${CMAKE_SOURCE_DIR}/receiver/ebpf)
