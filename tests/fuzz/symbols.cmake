profcol_fuzz_target(elf_symbols_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/elf_symbols_fuzz.c
	LIBRARIES profcol_ebpf_worker)
