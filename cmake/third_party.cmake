# SPDX-License-Identifier: Apache-2.0
# Third-party libraries as imported targets `third_party::NAME`, from Debian's static
# archives: the program then needs nothing but libc at run time.

function(profcol_third_party name header archive)
	find_path(${name}_INCLUDE ${header} REQUIRED)
	find_library(${name}_ARCHIVE NAMES ${archive} REQUIRED)
	add_library(third_party::${name} STATIC IMPORTED GLOBAL)
	set_target_properties(third_party::${name} PROPERTIES
		IMPORTED_LOCATION ${${name}_ARCHIVE}
		INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE}
		INTERFACE_LINK_LIBRARIES "${ARGN}")
endfunction()

profcol_third_party(z zlib.h libz.a)
profcol_third_party(elf libelf.h libelf.a third_party::z)
profcol_third_party(bpf bpf/libbpf.h libbpf.a third_party::elf)
profcol_third_party(yaml yaml.h libyaml.a)
profcol_third_party(nanopb pb_encode.h libprotobuf-nanopb.a)
profcol_third_party(protobuf_c protobuf-c/protobuf-c.h libprotobuf-c.a)
profcol_third_party(deflate libdeflate.h libdeflate.a)
profcol_third_party(iberty libiberty/demangle.h libiberty.a)
profcol_third_party(cap sys/capability.h libcap.a)
profcol_third_party(seccomp seccomp.h libseccomp.a)
profcol_third_party(nettle nettle/sha2.h libnettle.a)
