# SPDX-License-Identifier: Apache-2.0
# What the program is made of, as SPDX: from the archives that the linker has taken parts of, and the
# Debian packages they come from. Not for what is built for tests, or elsewhere than on Debian.
find_program(DPKG_QUERY dpkg-query)
if(NOT DPKG_QUERY OR CMAKE_CROSSCOMPILING OR PROFCOL_SANITIZE OR NOT CMAKE_BUILD_TYPE STREQUAL Release)
	return()
endif()
set(map ${CMAKE_BINARY_DIR}/profcol.map)
set(sbom ${CMAKE_BINARY_DIR}/package/profcol.spdx.json)
target_link_options(profcol PRIVATE -Wl,-Map=${map})
add_custom_command(OUTPUT ${sbom}
	COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/scripts/sbom.py $<TARGET_FILE:profcol> ${map}
		${PROJECT_VERSION} > ${sbom}.new
	COMMAND ${CMAKE_COMMAND} -E rename ${sbom}.new ${sbom}
	DEPENDS profcol ${CMAKE_SOURCE_DIR}/scripts/sbom.py VERBATIM)
add_custom_target(profcol_sbom ALL DEPENDS ${sbom})
install(FILES ${sbom} DESTINATION share/doc/profcol)
