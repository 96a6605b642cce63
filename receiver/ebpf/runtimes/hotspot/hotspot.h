/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libjvm.so describes its code cache to debuggers (JDK, src/hotspot/share/runtime/vmStructs.hpp:
 * gHotSpotVMStructs, an array of the fields of its structures by type and name). The file has the
 * names of the fields; the library writes their offsets beside them when it starts. So the file
 * tells where in a process to read an offset.
 */
#pragma once

#include "runtimes/hotspot.h"
#include "runtimes/runtime.h"

/* Words of 8 bytes in the memory of a program that has loaded libjvm.so. The library has written
 * the offsets, in bytes from a structure's beginning on, once its code cache is there. */
enum hotspot_word {
	HOTSPOT_HEAPS,         /* CodeCache::_heaps: address of a GrowableArray<CodeHeap *> */
	HOTSPOT_INTERPRETER,   /* AbstractInterpreter::_code: address of a StubQueue */
	HOTSPOT_ARRAY_LENGTH,  /* offset of an int in a GrowableArray... */
	HOTSPOT_ARRAY_ITEMS,   /* ...and of the address of its items */
	HOTSPOT_HEAP_MEMORY,   /* offset of a VirtualSpace in a CodeHeap: the code */
	HOTSPOT_HEAP_SEGMENTS, /* the same, with a byte for each segment of it */
	HOTSPOT_HEAP_SHIFT,    /* of an int: log2 of a segment's bytes */
	HOTSPOT_SPACE_LOW,     /* of an address in a VirtualSpace: where it is reserved from... */
	HOTSPOT_SPACE_HIGH,    /* ...and up to */
	HOTSPOT_STUBS_START,   /* of an address in a StubQueue: where the interpreter begins */
	HOTSPOT_STUBS_BYTES,   /* of an int: how long what is made of it is */
	HOTSPOT_BLOB_NAME,     /* of an address in a CodeBlob: what it is called */
	HOTSPOT_BLOB_CODE,     /* of where its code begins: see code_bytes */
	HOTSPOT_BLOB_COMPLETE, /* of how far in its code a frame is complete: complete_bytes */
	HOTSPOT_BLOB_FRAME_WORDS, /* of an int: of a frame, with its return address; or 0 */
	HOTSPOT_WALK_WORDS,       /* those above are there in every layout; the rest name frames */

	HOTSPOT_VM_MAJOR = HOTSPOT_WALK_WORDS, /* Abstract_VM_Version: an int; 25 is JDK 8, too */
	HOTSPOT_VM_RELEASE,                    /* ...and a text, its address */
	HOTSPOT_FLAGS,                         /* the address of an array of settings, */
	HOTSPOT_FLAG_COUNT,                    /* and how many there are; these may be missing */
	HOTSPOT_FLAG_NAME,                     /* offset of an address in a setting: its name, */
	HOTSPOT_FLAG_VALUE,                    /* and of the address of its value */
	HOTSPOT_METHOD_CONST,                  /* offset of an address in a Method */
	HOTSPOT_CONST_POOL,                    /* offset in a ConstMethod of an address, */
	HOTSPOT_CONST_FLAGS,                   /* of a byte, whose lowest bit says: it has lines, */
	HOTSPOT_CONST_CODE_BYTES,              /* and of 2 bytes each: how long its bytecode is, */
	HOTSPOT_CONST_NAME,                    /* which entry of the pool is its name, */
	HOTSPOT_CONST_SIGNATURE,               /* and which its signature */
	HOTSPOT_POOL_HOLDER,                   /* offset in a ConstantPool of an address, */
	HOTSPOT_POOL_LENGTH,                   /* and of an int: entries */
	HOTSPOT_POOL_SOURCE,                   /* of 2 bytes: which entry is the file; or */
	HOTSPOT_KLASS_SOURCE,                  /* the same in an InstanceKlass, up to JDK 14 */
	HOTSPOT_KLASS_NAME,
	HOTSPOT_SYMBOL_LENGTH, /* offset of 2 bytes in a Symbol */
	HOTSPOT_SYMBOL_BODY,
	HOTSPOT_BLOB_BYTES,        /* offset of an int in a CodeBlob: of all of it */
	HOTSPOT_NMETHOD_METHOD,    /* offset of an address in an nmethod, */
	HOTSPOT_NMETHOD_ID,        /* of an int: the number of the compilation, */
	HOTSPOT_NMETHOD_ORIGINAL,  /* of an int: hotspot_data.original, */
	HOTSPOT_NMETHOD_DEOPT,     /* and of addresses, or offsets from the CodeBlob on: see */
	HOTSPOT_NMETHOD_DEOPT_MH,  /* ...deopt_bytes; the latter may be missing */
	HOTSPOT_NMETHOD_PCS,       /* of an int: where the table of places is... */
	HOTSPOT_NMETHOD_PCS_LIMIT, /* ...and where it ends */
	HOTSPOT_NMETHOD_SCOPES,    /* of where what these lead to is: an int, or an address */
	HOTSPOT_NMETHOD_METADATA,  /* of where the methods are; missing from JDK 25 on */
	HOTSPOT_NMETHOD_DATA, /* from JDK 23 on, the address that places, and scopes, count from */
	HOTSPOT_NMETHOD_DATA_BYTES, /* ...and how many bytes are there: an int */
	HOTSPOT_BLOB_DATA,          /* of an int: JDK 23 and 24, where the metadata count from */
	HOTSPOT_BLOB_MUTABLE,       /* from JDK 25 on, the address of memory with the metadata, */
	HOTSPOT_BLOB_MUTABLE_BYTES, /* an int: how much that is, */
	HOTSPOT_BLOB_RELOCATIONS,   /* and an int: so many bytes before these */
	HOTSPOT_WORDS,
};

/* Further words, by which threads of Java, and programs, are called: numbers after those of
 * hotspot_word. Each may be missing. */
enum hotspot_object {
	HOTSPOT_THREADS = HOTSPOT_WORDS, /* the address of a ThreadsList; or, up to JDK 11... */
	HOTSPOT_FIRST_THREAD,            /* ...that of a JavaThread */
	HOTSPOT_HEAP,                    /* the address of the CollectedHeap */
	HOTSPOT_OOP_BASE,                /* how short pointers to objects are made long... */
	HOTSPOT_OOP_SHIFT,
	HOTSPOT_CLASS_BASE, /* ...and those to classes */
	HOTSPOT_CLASS_SHIFT,
	HOTSPOT_COMMAND, /* the address of a text: what is run, and its arguments */
	HOTSPOT_VM_INFO, /* the address of a text: what the JVM is called, and more */
	HOTSPOT_STATICS_LIMIT,
	HOTSPOT_LIST_LENGTH = HOTSPOT_STATICS_LIMIT, /* offset of an int in a ThreadsList, */
	HOTSPOT_LIST_ITEMS,                          /* and of the address of its items */
	HOTSPOT_THREAD_NEXT,   /* offset of an address in a JavaThread: of the next one, */
	HOTSPOT_THREAD_SYSTEM, /* of its OSThread, */
	HOTSPOT_THREAD_OBJECT, /* and of its object, or of where that address is: object_handle */
	HOTSPOT_SYSTEM_ID,     /* offset of an int in an OSThread: as gettid() has it */
	HOTSPOT_HEAP_ACTIVE,   /* offset of a byte in a CollectedHeap: objects are being moved, */
	HOTSPOT_HEAP_COLLECTIONS, /* and of an int: how often they were */
	HOTSPOT_KLASS_SUPER,      /* offset of an address in a Klass, */
	HOTSPOT_KLASS_POOL,       /* of one in an InstanceKlass, */
	HOTSPOT_KLASS_FIELDS,     /* and of that of an array: see fields_packed */
	HOTSPOT_THREAD_PC,        /* of one in a JavaThread: hotspot_data.saved_pc */
	HOTSPOT_ALL_WORDS,
};

enum { HOTSPOT_OBJECTS = HOTSPOT_ALL_WORDS - HOTSPOT_WORDS };

/* How a JVM keeps its objects. */
enum hotspot_setting {
	HOTSPOT_SHORT_POINTERS = 1,  /* to objects: 4 bytes (UseCompressedOops) */
	HOTSPOT_SHORT_CLASSES = 2,   /* to their classes (UseCompressedClassPointers) */
	HOTSPOT_COMPACT = 4,         /* these are in the first word (UseCompactObjectHeaders) */
	HOTSPOT_MOVES_IN_PAUSES = 8, /* no object is moved while its program runs */
	HOTSPOT_TELLS_ALL =
		16, /* compiled code tells what runs at any place (DebugNonSafepoints) */
};

/* How an nmethod says what is where in it. */
enum hotspot_form {
	HOTSPOT_UNNAMED,   /* in none that is known */
	HOTSPOT_OFFSETS_8, /* JDK 8: as offsets from the CodeBlob on */
	HOTSPOT_POINTED,   /* JDK 9 to 22: the same, but for the address of the scopes */
	HOTSPOT_SPLIT,     /* JDK 23 and 24: places and scopes lie elsewhere */
	HOTSPOT_MUTABLE,   /* from JDK 25 on: the metadata, too */
	HOTSPOT_FORMS,
};

/* Where to read what of the code cache of a JVM (hotspot_read). */
struct hotspot_layout {
	uint64_t words[HOTSPOT_WORDS]; /* ELF addresses, multiples of 8, by enum
					  hotspot_word. Those from WALK_WORDS on are multiples
					  of 4, and 0 where there is none */
	uint32_t block_bytes;   /* of a HeapBlock, which lies before each CodeBlob; 8 or 16 */
	uint8_t code_bytes;     /* 8: an address; 4: a number of bytes from the CodeBlob on */
	uint8_t complete_bytes; /* of a signed number: 2 or 4 */
	uint8_t heap_bytes;     /* 0: HEAPS is of an array; 8: of the only heap (JDK 8) */
	uint8_t deopt_bytes;    /* 8: an address; 4: a number of bytes from the CodeBlob on */
	uint8_t form;           /* enum hotspot_form; UNNAMED: frames have no names */
	uint8_t metadata_bytes; /* of NMETHOD_METADATA: 2 or 4; 0: there is none */
	uint16_t const_bytes;   /* of a ConstMethod, which the bytecode follows */
	uint16_t pool_bytes;    /* of a ConstantPool, which its entries follow */
	uint16_t place_bytes;   /* of a PcDesc */
	uint16_t flag_bytes;    /* of a setting; 0: it is not known */
	uint8_t object_handle;  /* 1: THREAD_OBJECT is of the address of the object's address */
	uint8_t fields_packed;  /* 1: fields are compressed numbers; 0: 6 of 2 bytes each */
	uint16_t reserved;      /* 0 */
	/* As `words`, from HOTSPOT_THREADS on; 0: there is none. */
	uint32_t objects[HOTSPOT_OBJECTS];
	uint32_t reserved_last; /* 0 */
};

_Static_assert(sizeof(struct hotspot_layout) % 8 == 0, "it is words");
_Static_assert(sizeof(struct hotspot_layout) <= RUNTIME_LAYOUT_BYTES, "there is room for it");

/*
 * What attach has found in a process, and resolve goes by: offsets in bytes as the words of the
 * layout have them in that JVM, those in blobs from the CodeBlob on. Missing ones are 0.
 */
struct hotspot_offsets {
	struct hotspot_data told; /* first: what the kernel side has of it */
	uint16_t of[HOTSPOT_WORDS];
	uint16_t objects[HOTSPOT_OBJECTS]; /* the same, from HOTSPOT_THREADS on */
	uint16_t version;                  /* of the JDK */
	uint16_t settings;                 /* of enum hotspot_setting */
	uint16_t names_threads;            /* 1: what that needs is there */
	uint16_t reserved[3];
};

_Static_assert(sizeof(struct hotspot_offsets) % 8 == 0, "it is words");
_Static_assert(sizeof(struct hotspot_offsets) <= RUNTIME_DATA_BYTES, "there is room for it");

/* False when @file is no libjvm.so, or of a version that lacks one of the fields. Bounded, whatever
 * the file holds; allocates nothing. Any thread. */
bool hotspot_read(const struct runtime_file *file, void *layout_ret);

/* Can @layout, of which no byte is believed, be one? */
bool hotspot_check(const void *layout);

/*
 * Where the heaps of a JVM's code cache lie (JDK, src/hotspot/share/code/codeCache.hpp), as its
 * memory says: what the kernel side needs to find the frames of code in them (struct hotspot_area).
 * The addresses are fixed as soon as the JVM has started; what is in the heaps comes and goes, and
 * is not read here. No word is believed. False: there are none (yet). Any thread.
 */
bool hotspot_heaps(const void *layout, uint64_t base, const struct runtime_memory *memory,
		   struct runtime_found *ret);

/*
 * What names the frames of the JVM at @base, to the data of @ret, and its version. Without it,
 * where the layout has none or what is read does not add up, these stay empty. No word is believed.
 * Any thread.
 */
void hotspot_find_offsets(const struct hotspot_layout *layout, uint64_t base,
			  const struct runtime_memory *memory, struct runtime_found *ret);

/* As runtime.name_thread. */
enum runtime_outcome hotspot_name_thread(const struct runtime_process *process,
					 const struct runtime_memory *memory, uint32_t thread,
					 const struct runtime_lines *to);

/* As runtime.describe. */
enum runtime_outcome hotspot_describe(const struct runtime_process *process,
				      const struct runtime_memory *memory,
				      const struct runtime_lines *to);

/* As runtime.resolve. */
enum runtime_outcome hotspot_resolve(const struct runtime_process *process,
				     const struct runtime_memory *memory,
				     const struct runtime_frame *frame,
				     const struct runtime_lines *to);
