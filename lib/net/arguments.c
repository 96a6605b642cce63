// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <limits.h>

void arguments_add_int(struct arguments *arguments, const char *key, int value)
{
	arguments->items[arguments->count++] = (grpc_arg){
		.type = GRPC_ARG_INTEGER,
		.key = (char *)(uintptr_t)key, // gRPC copies it
		.value.integer = value,
	};
}

void arguments_add_text(struct arguments *arguments, const char *key, const char *value)
{
	arguments->items[arguments->count++] = (grpc_arg){
		.type = GRPC_ARG_STRING,
		.key = (char *)(uintptr_t)key,
		.value.string = (char *)(uintptr_t)value,
	};
}

void arguments_add_pointer(struct arguments *arguments, const char *key, void *value,
			   const grpc_arg_pointer_vtable *vtable)
{
	arguments->items[arguments->count++] = (grpc_arg){
		.type = GRPC_ARG_POINTER,
		.key = (char *)(uintptr_t)key,
		.value.pointer = { .p = value, .vtable = vtable },
	};
}

void arguments_add_buffers(struct arguments *arguments, uint64_t read_bytes, uint64_t write_bytes)
{
	if (read_bytes)
		arguments_add_int(arguments, GRPC_ARG_TCP_READ_CHUNK_SIZE, (int)read_bytes);
	if (write_bytes)
		arguments_add_int(arguments, GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, (int)write_bytes);
}

void arguments_add_ms(struct arguments *arguments, const char *key, uint64_t ns)
{
	uint64_t ms = ns / 1000000 + (ns % 1000000 != 0);

	arguments_add_int(arguments, key, ms > INT_MAX ? INT_MAX : (int)ms);
}
