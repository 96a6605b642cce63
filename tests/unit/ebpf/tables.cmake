# SPDX-License-Identifier: Apache-2.0
# What the kernel side is told of processes and files; processes_code is played by the test.
profcol_unit_test(ebpf_tables_test SOURCES tables/tables_test.c tables/kernel_model.c
	LIBRARIES profcol_ebpf_tables)

profcol_unit_test(ebpf_attached_test SOURCES tables/attached_test.c LIBRARIES profcol_ebpf_tables)

profcol_unit_test(ebpf_notes_test SOURCES tables/notes_test.c LIBRARIES profcol_ebpf_tables)

profcol_unit_test(ebpf_tables_memory_test SOURCES tables/memory_test.c
	LIBRARIES profcol_ebpf_tables)

profcol_unit_test(ebpf_found_rules_test SOURCES tables/found_rules_test.c tables/kernel_model.c
	LIBRARIES profcol_ebpf_tables)

profcol_unit_test(ebpf_page_layout_test SOURCES tables/page_layout_test.c
	LIBRARIES profcol_ebpf_tables)

profcol_unit_test(ebpf_recent_places_test SOURCES tables/recent_places_test.c
	LIBRARIES profcol_ebpf_tables)

profcol_unit_test(ebpf_rule_table_test SOURCES tables/rule_table_test.c
	LIBRARIES profcol_ebpf_tables)

profcol_unit_test(ebpf_walk_programs_test SOURCES tables/walk_programs_test.c
	LIBRARIES profcol_ebpf_tables)
