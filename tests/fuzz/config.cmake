profcol_fuzz_target(config_parse_fuzz
	SOURCES config_parse_fuzz.c ${CMAKE_SOURCE_DIR}/tests/unit/config/sample_components.c
	LIBRARIES profcol_config)
