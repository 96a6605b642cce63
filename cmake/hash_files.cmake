# SPDX-License-Identifier: Apache-2.0
# hash_files(SOURCE TEXT DIGITS RET FILE...)
#
# RET becomes the first DIGITS hexadecimal digits of a hash over TEXT and the names, relative to
# SOURCE, and contents of all FILEs, whatever their order. For scripts (cmake -P).
function(hash_files source text digits ret)
	set(files ${ARGN})
	list(SORT files)
	foreach(file IN LISTS files)
		file(SHA256 ${source}/${file} hash)
		string(APPEND text "\n${file} ${hash}")
	endforeach()
	string(SHA256 hash "${text}")
	string(SUBSTRING ${hash} 0 ${digits} hash)
	set(${ret} ${hash} PARENT_SCOPE)
endfunction()
