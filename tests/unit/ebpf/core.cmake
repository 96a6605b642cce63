# SPDX-License-Identifier: Apache-2.0
# The receiver's own files, without a kernel. What they call is played by the tests.
set(receiver ${CMAKE_SOURCE_DIR}/receiver/ebpf)

profcol_unit_test(ebpf_capture_test SOURCES capture_test.c ${receiver}/capture.c ${receiver}/capture_threads.c ${receiver}/sample_labels.c)
target_link_libraries(ebpf_capture_test PRIVATE profcol_bpf_perf_event profcol_ebpf_runtimes)

profcol_unit_test(ebpf_outdated_test
	SOURCES outdated_test.c ${receiver}/capture.c ${receiver}/capture_threads.c ${receiver}/sample_labels.c ${receiver}/outdated.c)
target_link_libraries(ebpf_outdated_test PRIVATE profcol_bpf_perf_event profcol_ebpf_runtimes)

profcol_unit_test(ebpf_held_test
	SOURCES held_test.c ${receiver}/containers.c ${receiver}/held.c LIBRARIES profcol_profile)
target_link_libraries(ebpf_held_test PRIVATE profcol_bpf_perf_event)
target_link_options(ebpf_held_test PRIVATE
	-Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc)

profcol_unit_test(ebpf_overhead_test SOURCES overhead_test.c ${receiver}/overhead.c)
target_link_libraries(ebpf_overhead_test PRIVATE m)

profcol_unit_test(ebpf_cost_test SOURCES cost_test.c ${receiver}/cost.c ${receiver}/overhead.c
	LIBRARIES profcol_ebpf_worker)
target_link_libraries(ebpf_cost_test PRIVATE profcol_bpf_perf_event m)

profcol_unit_test(ebpf_requirements_test
	SOURCES requirements_test.c ${receiver}/requirements.c ${receiver}/libbpf_messages.c
	LIBRARIES profcol_bpf_kernel_text third_party::cap)

add_library(ebpf_report_fixture STATIC report_fixture.c ${receiver}/capture.c ${receiver}/capture_threads.c ${receiver}/sample_labels.c
	${receiver}/events/event_kinds.c ${receiver}/events/wait_reason.c
	${receiver}/containers.c ${receiver}/file_locations.c ${receiver}/label_attributes.c ${receiver}/location_order.c ${receiver}/locations.c ${receiver}/nameless.c
	${receiver}/report.c ${receiver}/resources.c ${receiver}/text.c ${receiver}/thread_names.c)
target_include_directories(ebpf_report_fixture PUBLIC ${receiver} ${CMAKE_SOURCE_DIR})
target_link_libraries(ebpf_report_fixture PUBLIC profcol_headers profcol_ebpf_printable profcol_ebpf_runtimes profcol_profile
	profcol_bpf_perf_event profile_otlp_conformance ${CMOCKA_LIBRARY})
foreach(part events samples stacks locations resources)
	profcol_unit_test(ebpf_report_${part}_test SOURCES report_${part}_test.c
		LIBRARIES ebpf_report_fixture)
endforeach()

profcol_unit_test(ebpf_options_test
	SOURCES options_test.c ${receiver}/events/event_kinds.c ${receiver}/events/wait_reason.c
		${receiver}/options.c ${receiver}/overhead.c ${receiver}/settings.c ${receiver}/unheeded.c
	LIBRARIES profcol_config profcol_ebpf_select profcol_bpf_perf_event m)

profcol_unit_test(ebpf_unread_test SOURCES unread_test.c ${receiver}/unread.c ${receiver}/processes/shares.c)
target_include_directories(ebpf_unread_test PRIVATE ${receiver})
target_link_libraries(ebpf_unread_test PRIVATE profcol_bpf_perf_event)

profcol_unit_test(ebpf_sample_buffers_test
	SOURCES sample_buffers_test.c ${receiver}/sample_buffers.c)
target_link_libraries(ebpf_sample_buffers_test PRIVATE profcol_bpf_perf_event)

profcol_unit_test(ebpf_sampler_test
	SOURCES sampler_test.c ${receiver}/sampler.c ${receiver}/sample_buffers.c
		${receiver}/recent_rules.c ${receiver}/libbpf_messages.c
		${receiver}/address_mask.c ${receiver}/sampling_settings.c
		${receiver}/events/event_kinds.c ${receiver}/events/events.c ${receiver}/events/memory_growth.c ${receiver}/events/off_cpu.c
		${receiver}/events/page_faults.c ${receiver}/events/unfinished.c ${receiver}/events/wait_reason.c ${receiver}/events/wakers.c
	LIBRARIES profcol_bpf_perf_event profcol_bpf_memory_growth profcol_bpf_off_cpu profcol_bpf_page_faults profcol_bpf_wakers profcol_ebpf_perf profcol_ebpf_tables)

profcol_unit_test(ebpf_recent_rules_test SOURCES recent_rules_test.c ${receiver}/recent_rules.c
	LIBRARIES profcol_bpf_perf_event profcol_ebpf_inner_maps third_party::bpf)

foreach(test capture cost held options outdated overhead recent_rules requirements sample_buffers sampler)
	target_include_directories(ebpf_${test}_test PRIVATE ${receiver})
endforeach()

profcol_unit_test(ebpf_nameless_test SOURCES nameless_test.c ${receiver}/capture.c ${receiver}/capture_threads.c ${receiver}/sample_labels.c
	${receiver}/nameless.c LIBRARIES profcol_headers profcol_base profcol_ebpf_runtimes)
target_include_directories(ebpf_nameless_test PRIVATE ${receiver} ${CMAKE_SOURCE_DIR})
