// SPDX-License-Identifier: Apache-2.0
/*
 * A small program on a library of more than 100 MB: `llvm_work PER_MILLE SEED` has libLLVM parse
 * and verify a function, and rests. A unit is some functions, and its checksum their basic blocks.
 */
#include <string.h>

#include "pace.h"
#include "unit.h"

#define PARSES 8 // of a unit

/* Those of LLVM's C interface that are needed, so that its headers are not. Since LLVM 3.3. */
struct llvm_context;
struct llvm_buffer;
struct llvm_module;
struct llvm_function;

#define LLVM_VERIFY_AND_RETURN_STATUS 2

struct llvm_context *LLVMContextCreate(void);
void LLVMContextDispose(struct llvm_context *context);
struct llvm_buffer *LLVMCreateMemoryBufferWithMemoryRangeCopy(const char *text, size_t length,
							      const char *name);
/* Takes the buffer. 0 when it is well. */
int LLVMParseIRInContext(struct llvm_context *context, struct llvm_buffer *buffer,
			 struct llvm_module **ret, char **ret_message);
int LLVMVerifyModule(struct llvm_module *module, int action, char **ret_message);
void LLVMDisposeModule(struct llvm_module *module);
void LLVMDisposeMessage(char *message);
struct llvm_function *LLVMGetFirstFunction(struct llvm_module *module);
unsigned int LLVMCountBasicBlocks(struct llvm_function *function);

static const char llvm_text[] = "define i32 @sum(i32 %count) {\n"
				"entry:\n"
				"  %none = icmp eq i32 %count, 0\n"
				"  br i1 %none, label %end, label %loop\n"
				"loop:\n"
				"  %i = phi i32 [ 0, %entry ], [ %next, %more ]\n"
				"  %sum = phi i32 [ 0, %entry ], [ %folded, %more ]\n"
				"  %odd = and i32 %i, 1\n"
				"  %is_odd = icmp ne i32 %odd, 0\n"
				"  br i1 %is_odd, label %fold, label %more\n"
				"fold:\n"
				"  %product = mul i32 %sum, 16777619\n"
				"  %mixed = xor i32 %product, %i\n"
				"  br label %more\n"
				"more:\n"
				"  %folded = phi i32 [ %sum, %loop ], [ %mixed, %fold ]\n"
				"  %next = add i32 %i, 1\n"
				"  %done = icmp eq i32 %next, %count\n"
				"  br i1 %done, label %end, label %loop\n"
				"end:\n"
				"  %result = phi i32 [ 0, %entry ], [ %folded, %more ]\n"
				"  ret i32 %result\n"
				"}\n";

static void llvm_fail(const char *what, const char *message)
{
	fprintf(stderr, "llvm_work: %s: %s\n", what, message ? message : "no reason given");
	exit(1);
}

static unsigned int llvm_parse(void)
{
	struct llvm_context *context = LLVMContextCreate();
	struct llvm_buffer *buffer =
		LLVMCreateMemoryBufferWithMemoryRangeCopy(llvm_text, strlen(llvm_text), "sum");
	struct llvm_module *module;
	char *message = NULL;
	unsigned int blocks;

	if (LLVMParseIRInContext(context, buffer, &module, &message))
		llvm_fail("parse", message);
	if (LLVMVerifyModule(module, LLVM_VERIFY_AND_RETURN_STATUS, &message))
		llvm_fail("verify", message);
	LLVMDisposeMessage(message);
	blocks = LLVMCountBasicBlocks(LLVMGetFirstFunction(module));
	LLVMDisposeModule(module);
	LLVMContextDispose(context);
	return blocks;
}

int main(int argc, char **argv)
{
	struct pace pace;

	pace_init(&pace, argc - 1, argv + 1);
	for (;;) {
		uint32_t sum = UNIT_FOLD_START;

		for (unsigned int i = 0; i < PARSES; i++)
			sum = unit_fold(sum, llvm_parse());
		unit_report(STDOUT_FILENO, sum);
		pace_rest(&pace);
	}
}
