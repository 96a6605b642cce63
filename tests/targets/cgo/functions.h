/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this program on both sides of cgo. */
#pragma once

#define SHADOW_FUNCTIONS(F)                                                                        \
	F(main, "main.main")                                                                       \
	F(cross, "main.cross")                                                                     \
	F(north, "main.north")                                                                     \
	F(east, "main.east")                                                                       \
	F(south, "main.south")                                                                     \
	F(west, "main.west")                                                                       \
	F(spring, "spring")                                                                        \
	F(summer, "summer")                                                                        \
	F(autumn, "autumn")                                                                        \
	F(winter, "winter")                                                                        \
	F(red, "red")                                                                              \
	F(green, "green")                                                                          \
	F(blue, "blue")                                                                            \
	F(black, "black")                                                                          \
	F(leaf, "leaf")                                                                            \
	F(go_back, "main.back")                                                                    \
	F(go_leaf, "main.goLeaf")
#include "../shadow.h"

enum { ROUNDS = 50000 };

uint32_t chains_open(char *path, char *rounds);
struct shadow_slot *chains_slot(void);

/* Each calls a colour, and that a leaf: here for even directions, in Go for odd ones. */
void spring(unsigned int direction);
void summer(unsigned int direction);
void autumn(unsigned int direction);
void winter(unsigned int direction);
