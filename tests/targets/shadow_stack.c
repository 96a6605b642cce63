// SPDX-License-Identifier: Apache-2.0
/*
 * A program that knows its own call chains (shadow.h), the sixteen of chains.h:
 * shadow_stack FILE [ROUNDS], endless without ROUNDS. `light` and `heavy` work 1 : 3.
 */
#define OWN_FUNCTIONS(F) F(main, "main")
#include "chains.h"

int main(int argc, char **argv)
{
	return chains_main(argc, argv);
}
