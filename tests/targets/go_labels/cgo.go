// SPDX-License-Identifier: Apache-2.0

//go:build cgo
// +build cgo

package main

// // Of C's own, so that Go's is not the first one.
// static __thread long others[7];
//
// __attribute__((noinline)) void labelsInC(long rounds)
// {
// 	for (long i = 0; i < rounds; i++)
// 		others[i % 7] += i;
// }
import "C"

// language=c
//
//go:noinline
func throughC() { C.labelsInC(rounds) }

func init() { ways = append(ways, func() { with(throughC, "language", "c") }) }
