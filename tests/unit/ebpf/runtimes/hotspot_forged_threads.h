/* SPDX-License-Identifier: Apache-2.0 */
/* Memory with two threads of a JVM's in it, made by hand: their list, objects and names. */
#pragma once

#include "hotspot_forged.h"

enum {
	/* Threads, as the system numbers them: the second one, and the first. */
	FORGED_TID = 4711,
	FORGED_OTHER_TID = 4712,
	/* Where in a Thread, and in a String, its fields lie. */
	FORGED_OWNER_AT = 16,
	FORGED_NAME_AT = 32,
	FORGED_VALUE_AT = 24,
	FORGED_CODER_AT = 40,
	FORGED_JVM_KINDS = 6,
};

/* A JVM as it may be. */
struct forged_jvm_kind {
	enum hotspot_form form;
	uint16_t version, settings;
	bool has_list, has_handles;
};

/* Of them are those whose names are known here: of JDK 17, and of 25 with compact objects. */
enum { FORGED_JVM_17 = 2, FORGED_JVM_COMPACT = 4 };

extern const struct forged_jvm_kind forged_jvm_kinds[FORGED_JVM_KINDS];

/* Addresses, by number of the thread: 0 is FORGED_OTHER_TID, 1 is FORGED_TID. */
struct forged_jvm {
	const struct forged_jvm_kind *kind;
	struct forged *memory; /* borrowed */
	uint64_t statics, heap, items;
	uint64_t threads[2], systems[2], objects[2], strings[2], handles[2], arrays[2];
	struct forged_class thread_class, worker_class, string_class, array_class;
};

/* Begin anew in @memory. The threads are called "another" and "orders and invoices". */
void forged_jvm_init(struct forged_jvm *jvm, struct forged *memory,
		     const struct forged_jvm_kind *kind);

/* The field @word of the structure at @address. */
uint64_t forged_jvm_at(uint64_t address, enum hotspot_object word);

/* A variable of the library. */
void forged_jvm_put_static(struct forged_jvm *jvm, enum hotspot_object word, uint64_t value);

/* A pointer to @object, at @address, as objects have it. */
void forged_jvm_put_pointer(struct forged_jvm *jvm, uint64_t address, uint64_t object);

/* The class that @object says to be of. */
void forged_jvm_put_class(struct forged_jvm *jvm, uint64_t object, uint64_t klass);

/* A new text for thread number @i: @bytes bytes, which are units of UTF-16 if @is_wide. Its length
 * is said to be @said bytes. */
void forged_jvm_put_text(struct forged_jvm *jvm, size_t i, const void *text, size_t bytes,
			 uint32_t said, bool is_wide);

/* The same, of ASCII, as that JVM keeps it; up to 255 letters. */
void forged_jvm_put_ascii(struct forged_jvm *jvm, size_t i, const char *text);

/* A new thread of number @id of the system's in the place of number @i; what was there stays. */
void forged_jvm_make_thread(struct forged_jvm *jvm, size_t i, uint32_t id);

/* Lists of the threads that there are now, in the place of those of before. */
void forged_jvm_list_threads(struct forged_jvm *jvm);
