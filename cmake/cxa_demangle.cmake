# SPDX-License-Identifier: Apache-2.0
# The demangler of LLVM's C++ ABI library as one object for a C program: what it calls has the names of
# receiver/ebpf/worker/demangle_newer_calls.h, and nothing else of the library is needed. Sets
# CXA_DEMANGLE_OBJECT.
find_library(CXXABI_ARCHIVE NAMES libc++abi.a PATHS /usr/lib/llvm-19/lib NO_DEFAULT_PATH REQUIRED)
find_program(CXXABI_AR llvm-ar-19 REQUIRED)
find_program(CXXABI_OBJCOPY llvm-objcopy-19 REQUIRED)
set(CXA_DEMANGLE_OBJECT ${CMAKE_BINARY_DIR}/third_party/cxa_demangle.cpp.o)
set(CXA_DEMANGLE_CALLS)
foreach(call IN ITEMS __cxa_demangle=newer_demangle malloc=newer_malloc realloc=newer_realloc
		free=newer_free abort=newer_abort abort_message=newer_abort_message
		_ZSt9terminatev=newer_terminate __cxa_begin_catch=newer_catch
		_Unwind_Resume=newer_resume __gxx_personality_v0=newer_personality
		_ZdlPvm=newer_delete _ZTVN10__cxxabiv117__class_type_infoE=newer_class_info
		_ZTVN10__cxxabiv120__si_class_type_infoE=newer_si_class_info)
	list(APPEND CXA_DEMANGLE_CALLS --redefine-sym ${call})
endforeach()
# All other symbols become local, and so no part of what other C++ code in the program shares.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/third_party)
add_custom_command(OUTPUT ${CXA_DEMANGLE_OBJECT}
	COMMAND ${CXXABI_AR} x --output ${CMAKE_BINARY_DIR}/third_party ${CXXABI_ARCHIVE} cxa_demangle.cpp.o
	COMMAND ${CXXABI_OBJCOPY} ${CXA_DEMANGLE_CALLS} --keep-global-symbol=__cxa_demangle
		${CXA_DEMANGLE_OBJECT}
	DEPENDS ${CXXABI_ARCHIVE} VERBATIM)
set_source_files_properties(${CXA_DEMANGLE_OBJECT} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
