/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of chains.h in the order of their ids, for programs in C and for recorder.c. */
#pragma once

#define CHAIN_FUNCTIONS(F)                                                                         \
	F(north, "north")                                                                          \
	F(east, "east")                                                                            \
	F(south, "south")                                                                          \
	F(west, "west")                                                                            \
	F(spring, "spring")                                                                        \
	F(summer, "summer")                                                                        \
	F(autumn, "autumn")                                                                        \
	F(winter, "winter")                                                                        \
	F(red, "red")                                                                              \
	F(green, "green")                                                                          \
	F(blue, "blue")                                                                            \
	F(black, "black")                                                                          \
	F(turn, "turn")                                                                            \
	F(light, "light")                                                                          \
	F(heavy, "heavy")
