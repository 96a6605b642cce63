# SPDX-License-Identifier: Apache-2.0
# What the .deb and the .rpm have beyond `make install`: a service with its configuration. The
# component `service` is installed by packages alone, since it goes to fixed places: /etc, /usr.
set(deploy ${CMAKE_SOURCE_DIR}/deploy)
set(service COMPONENT service EXCLUDE_FROM_ALL)
install(FILES ${deploy}/packages/pipeline.yaml ${deploy}/packages/profcol.conf
	DESTINATION /etc/profcol ${service})
install(FILES ${deploy}/systemd/profcol.service DESTINATION lib/systemd/system ${service})
install(PROGRAMS ${deploy}/packages/validate-service DESTINATION libexec/profcol ${service})

set(CPACK_PACKAGE_NAME profcol)
set(CPACK_PACKAGE_VENDOR "The profcol authors")
set(CPACK_PACKAGE_CONTACT "The profcol authors <profcol@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "eBPF profiler of whole machines, shaped like a Collector")
set(CPACK_PACKAGE_DESCRIPTION
"Samples every CPU with eBPF, user code and kernel alike, and passes the profiles
through a pipeline written as an OpenTelemetry Collector's: to a Collector over
OTLP, or to pprof files.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB RPM)
set(CPACK_STRIP_FILES ON)
# With it the prefix is the one below, and /etc stays /etc.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
set(CPACK_INSTALL_CMAKE_PROJECTS
	"${CMAKE_BINARY_DIR};profcol;ALL;/" "${CMAKE_BINARY_DIR};profcol;service;/")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "passwd")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${deploy}/packages/deb/conffiles
	${deploy}/packages/deb/postinst ${deploy}/packages/deb/prerm ${deploy}/packages/deb/postrm)

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0 AND GPL-2.0-only")
set(CPACK_RPM_PACKAGE_REQUIRES_PRE "shadow-utils")
set(CPACK_RPM_PACKAGE_AUTOREQ ON)
set(CPACK_RPM_PACKAGE_RELOCATABLE OFF)
set(CPACK_RPM_PRE_INSTALL_SCRIPT_FILE ${deploy}/packages/rpm/pre)
set(CPACK_RPM_POST_INSTALL_SCRIPT_FILE ${deploy}/packages/rpm/post)
set(CPACK_RPM_PRE_UNINSTALL_SCRIPT_FILE ${deploy}/packages/rpm/preun)
set(CPACK_RPM_POST_UNINSTALL_SCRIPT_FILE ${deploy}/packages/rpm/postun)
# They may come to hold tokens. rpm gives a file of an upgrade the owner and mode that stand here.
set(configuration "%attr(0640,root,profcol) %config(noreplace)")
set(CPACK_RPM_USER_FILELIST "${configuration} /etc/profcol/pipeline.yaml"
	"${configuration} /etc/profcol/profcol.conf")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /etc /usr/libexec /usr/lib/systemd
	/usr/lib/systemd/system
	/usr/lib/pkgconfig /usr/lib/cmake /usr/share/man /usr/share/man/man1
	/usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/zsh
	/usr/share/zsh/site-functions)
include(CPack)
