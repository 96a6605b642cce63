# SPDX-License-Identifier: Apache-2.0
# What `make install` puts where, below the prefix, beside the program and its plugins
# (host/CMakeLists.txt, cmake/plugin.cmake): the headers of the plugin ABI, what finds them, the
# example configuration and the documentation. Nothing in the files names the prefix.
include(CMakePackageConfigHelpers)

# Whatever the umask: directories that are root's, readable by all and writable by nobody else, or
# the program would refuse the plugins below them.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
	OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

configure_file(${CMAKE_SOURCE_DIR}/cmake/profcolConfig.cmake.in
	${CMAKE_BINARY_DIR}/package/profcolConfig.cmake COPYONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/profcolConfigVersion.cmake
	COMPATIBILITY SameMinorVersion)
configure_file(${CMAKE_SOURCE_DIR}/cmake/profcol.pc.in
	${CMAKE_BINARY_DIR}/package/profcol.pc @ONLY)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/profcol DESTINATION include
	FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_BINARY_DIR}/package/profcolConfig.cmake
	${CMAKE_BINARY_DIR}/package/profcolConfigVersion.cmake DESTINATION lib/cmake/profcol)
install(FILES ${CMAKE_BINARY_DIR}/package/profcol.pc DESTINATION lib/pkgconfig)
# Where plugins go, there also when none of ours is one.
install(DIRECTORY DESTINATION lib/profcol)

# Manual page and completion, where man, bash and zsh look.
set(deploy ${CMAKE_SOURCE_DIR}/deploy)
find_program(GZIP gzip REQUIRED)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/package/profcol.1.gz
	COMMAND ${GZIP} -9 -n -c ${deploy}/man/profcol.1 > ${CMAKE_BINARY_DIR}/package/profcol.1.gz
	DEPENDS ${deploy}/man/profcol.1 VERBATIM)
add_custom_target(profcol_manual ALL DEPENDS ${CMAKE_BINARY_DIR}/package/profcol.1.gz)
install(FILES ${CMAKE_BINARY_DIR}/package/profcol.1.gz DESTINATION share/man/man1)
install(FILES ${deploy}/completion/profcol.bash
	DESTINATION share/bash-completion/completions RENAME profcol)
install(FILES ${deploy}/completion/profcol.zsh DESTINATION share/zsh/site-functions
	RENAME _profcol)

set(doc share/doc/profcol)
install(FILES README.md LICENSE pipeline.yaml.example DESTINATION ${doc})
install(FILES bpf/LICENSE DESTINATION ${doc} RENAME LICENSE.bpf)
install(DIRECTORY docs DESTINATION ${doc})
include(packaging)
