# SPDX-License-Identifier: Apache-2.0
# Tests of the wire formats. What they decode with is generated from lib/proto and linked
# into the tests only.
add_library(profile_format_readers STATIC otlp_reader.c otlp_small_request.c
	pprof_content.c pprof_small_file.c wire_bytes.c)
target_include_directories(profile_format_readers PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(profile_format_readers PUBLIC profcol_profile profcol_proto_otlp
	profcol_proto_pprof)

profcol_unit_test(proto_test SOURCES proto_test.c LIBRARIES profcol_proto)
foreach(name IN ITEMS otlp_encode otlp_decode otlp_hostile pprof_encode pprof_decode
		pprof_hostile pprof_round_trip)
	profcol_unit_test(${name}_test SOURCES ${name}_test.c
		LIBRARIES profile_random_batch profile_format_readers)
endforeach()

profcol_unit_test(formats_memory_test SOURCES formats_memory_test.c
	LIBRARIES profile_random_batch)
target_link_options(formats_memory_test PRIVATE
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
