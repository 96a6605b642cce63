/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects in the heap of a JVM (JDK, src/hotspot/share/oops/oop.hpp, fieldInfo.hpp): their classes,
 * where their fields lie, and texts. What is read is that of whatever is there. One thread at a
 * time.
 */
#pragma once

#include "hotspot.h"
#include "symbol.h"

/* How objects of one JVM are read; borrows. */
struct hotspot_reader {
	const struct runtime_process *process;
	const struct runtime_memory *memory;
	const struct hotspot_layout *layout;
	const struct hotspot_offsets *offsets;
	uint64_t object_base, class_base;
	uint32_t object_shift, class_shift;
};

/* False: memory cannot be read, or says nothing that can be. */
bool hotspot_reader_init(struct hotspot_reader *reader, const struct runtime_process *process,
			 const struct runtime_memory *memory);

/* The value of a variable of the library. */
bool hotspot_static(const struct hotspot_reader *reader, enum hotspot_object word, void *to,
		    size_t bytes);

/* The address of the class of @object, or of the one above it that is called @name
 * (`java/lang/Thread`); 0: there is none. */
uint64_t hotspot_class_called(const struct hotspot_reader *reader, uint64_t object,
			      const char *name);

/* How far into an object of the class @klass its field @name of type @type lies; 0: there is none.
 */
uint32_t hotspot_field(const struct hotspot_reader *reader, uint64_t klass, const char *name,
		       const char *type);

/* The object that the field at @address points to. */
bool hotspot_read_pointer(const struct hotspot_reader *reader, uint64_t address, uint64_t *ret);

/* A java.lang.String, as UTF-8: the first 500 units of UTF-16. False: @object is none. */
bool hotspot_read_string(const struct hotspot_reader *reader, uint64_t object,
			 struct hotspot_text *ret);
