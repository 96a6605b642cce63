# SPDX-License-Identifier: Apache-2.0
# profcol_unit_test(NAME SOURCES file... LIBRARIES target...)
#
# A cmocka program run by ctest as NAME. Unit tests need no root, no network and no
# sleep; they may include private headers of the module they test. ctest runs them beside each other
# in random order, so none of them may have a place or a port of a fixed name.
#
# The time limit is no verdict but an end for what hangs: a busy machine may be twenty times slower.
find_library(CMOCKA_LIBRARY cmocka)

function(profcol_unit_test name)
	cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
	add_executable(${name} ${ARG_SOURCES})
	target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
	target_compile_definitions(${name} PRIVATE PROFCOL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
	target_link_libraries(${name} PRIVATE profcol_headers profcol_base ${ARG_LIBRARIES}
		${CMOCKA_LIBRARY})
	add_test(NAME ${name} COMMAND ${name})
	set_tests_properties(${name} PROPERTIES TIMEOUT 900)
endfunction()

# profcol_fuzz_target(NAME SOURCES file... LIBRARIES target...)
#
# A libFuzzer program (clang, PROFCOL_FUZZ=ON). ctest replays its corpus, tests/fuzz/corpus/NAME.
function(profcol_fuzz_target name)
	if(NOT PROFCOL_FUZZ)
		return()
	endif()
	cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
	add_executable(${name} ${ARG_SOURCES})
	target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
	target_link_options(${name} PRIVATE -fsanitize=fuzzer)
	target_link_libraries(${name} PRIVATE profcol_headers profcol_base ${ARG_LIBRARIES})
	add_test(NAME ${name} COMMAND ${name} -runs=0 ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
	set_tests_properties(${name} PROPERTIES TIMEOUT 900)
endfunction()
