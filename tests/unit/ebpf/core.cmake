# SPDX-License-Identifier: Apache-2.0
# The receiver's own files, without a kernel. What they call is played by the tests.
set(receiver ${CMAKE_SOURCE_DIR}/receiver/ebpf)

profcol_unit_test(ebpf_capture_test SOURCES capture_test.c ${receiver}/capture.c)
target_link_libraries(ebpf_capture_test PRIVATE profcol_bpf_perf_event)

profcol_unit_test(ebpf_requirements_test
	SOURCES requirements_test.c ${receiver}/requirements.c ${receiver}/libbpf_messages.c
	LIBRARIES profcol_bpf_kernel_text third_party::cap)

profcol_unit_test(ebpf_report_test
	SOURCES report_test.c ${receiver}/capture.c ${receiver}/locations.c ${receiver}/report.c
		${receiver}/resources.c ${receiver}/text.c
	LIBRARIES profcol_profile profcol_bpf_perf_event)

profcol_unit_test(ebpf_sampler_test
	SOURCES sampler_test.c ${receiver}/sampler.c ${receiver}/libbpf_messages.c
	LIBRARIES profcol_bpf_perf_event profcol_ebpf_perf)

foreach(test capture requirements report sampler)
	target_include_directories(ebpf_${test}_test PRIVATE ${receiver})
endforeach()
