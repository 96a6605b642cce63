# SPDX-License-Identifier: Apache-2.0
# Tests of receiver/ebpf/unwind. Where two tables say the same of one file, each is the other's
# oracle: GNU ld writes linkage tables with and without call frame information, and compilers
# .eh_frame or .debug_frame.
set(unwind_folder ${CMAKE_CURRENT_LIST_DIR}/unwind)
set(unwind_files ${CMAKE_CURRENT_BINARY_DIR}/unwind)
file(MAKE_DIRECTORY ${unwind_files})

set(unwind_compile ${CMAKE_C_COMPILER} -O1 -fPIC -shared -fno-stack-protector
	${unwind_folder}/fixture.c -Wl,-z,lazy -Wl,-soname,libfixture.so.1)
set(unwind_bare -Wl,--no-ld-generated-unwind-info)
set(unwind_debug -g -nostdlib -fno-unwind-tables -fno-asynchronous-unwind-tables)
add_custom_command(
	OUTPUT ${unwind_files}/plt.so ${unwind_files}/plt_bare.so
		${unwind_files}/ibt.so ${unwind_files}/ibt_bare.so
		${unwind_files}/eh_frame.so
		${unwind_files}/debug_frame.so ${unwind_files}/debug_frame_z.so
	COMMAND ${unwind_compile} -o plt.so
	COMMAND ${unwind_compile} ${unwind_bare} -o plt_bare.so
	COMMAND ${unwind_compile} -Wl,-z,ibtplt -o ibt.so
	COMMAND ${unwind_compile} -Wl,-z,ibtplt ${unwind_bare} -o ibt_bare.so
	COMMAND ${unwind_compile} -nostdlib -o eh_frame.so
	COMMAND ${unwind_compile} ${unwind_debug} ${unwind_bare} -o debug_frame.so
	COMMAND ${unwind_compile} ${unwind_debug} ${unwind_bare} -gz=zlib -o debug_frame_z.so
	WORKING_DIRECTORY ${unwind_files}
	DEPENDS ${unwind_folder}/fixture.c
	COMMENT "ELF files with unwind tables for tests"
	VERBATIM)
add_custom_target(unwind_fixtures DEPENDS ${unwind_files}/plt.so)

function(profcol_unwind_test name)
	list(TRANSFORM ARGN PREPEND ${unwind_folder}/)
	profcol_unit_test(unwind_${name} SOURCES ${unwind_folder}/${name}.c ${ARGN}
		LIBRARIES profcol_ebpf_unwind)
	target_compile_definitions(unwind_${name} PRIVATE UNWIND_FILES="${unwind_files}")
	add_dependencies(unwind_${name} unwind_fixtures)
endfunction()

set(elf_files ../symbols/elf_files.c)
profcol_unwind_test(calls_test)
profcol_unwind_test(cfi_test rules.c)
profcol_unwind_test(elf_view_test made_elf.c ${elf_files})
profcol_unwind_test(linkage_test made_elf.c rules.c ${elf_files})
profcol_unwind_test(page_test made_elf.c rules.c)
profcol_unwind_test(pclntab_test made_elf.c made_pclntab.c rules.c)
profcol_unwind_test(source_test made_elf.c made_pclntab.c rules.c ${elf_files})
profcol_unwind_test(stubs_test made_elf.c rules.c)

# Its oracle is libdw, as in tests/unwind. The callers are amd64's.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
	add_custom_command(
		OUTPUT ${unwind_files}/lazy_binding.so
		COMMAND ${CMAKE_C_COMPILER} -shared -nostdlib -Wl,-Bsymbolic ${unwind_folder}/lazy_binding.s
			-o lazy_binding.so
		WORKING_DIRECTORY ${unwind_files}
		DEPENDS ${unwind_folder}/lazy_binding.s
		COMMENT "An ELF file with frames of lazy binding"
		VERBATIM)
	add_custom_target(unwind_lazy_binding DEPENDS ${unwind_files}/lazy_binding.so)
	find_library(DW_LIBRARY dw REQUIRED)
	find_library(ELF_SHARED_LIBRARY NAMES libelf.so REQUIRED)
	profcol_unwind_test(callee_saved_test rules.c ${elf_files})
	target_link_libraries(unwind_callee_saved_test PRIVATE ${DW_LIBRARY} ${ELF_SHARED_LIBRARY})
	add_dependencies(unwind_callee_saved_test unwind_lazy_binding)
endif()
