// SPDX-License-Identifier: Apache-2.0

// Chains from Go through C and, half of them, back into Go.
package main

// #include "functions.h"
import "C"

import "os"

var (
	slot *C.struct_shadow_slot
	sum  uint64
)

func push(id byte) {
	slot.stack[slot.depth%C.SHADOW_DEPTH] = C.uint8_t(id)
	slot.depth++
}

func pop() {
	slot.depth--
}

// Time spent here counts for the caller: a stack whose leaf it is counts without it.
//
//go:noinline
func record() {
	size := slot.depth
	for chain := C.uint32_t(0); chain < slot.chain_count; chain++ {
		at := C.uint32_t(0)
		for at < size && slot.chains[chain][at] == slot.stack[at] {
			at++
		}
		if at == size && slot.chains[chain][at] == C.SHADOW_END {
			return
		}
	}
	count := slot.chain_count
	copy(slot.chains[count][:], slot.stack[:size])
	slot.chains[count][size] = C.SHADOW_END
	slot.chain_count = count + 1
}

//go:noinline
func goLeaf() {
	push(C.SHADOW_go_leaf)
	record()
	x := uint64(88172645463325252)
	for rounds := 0; rounds < C.ROUNDS; rounds++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sum = x
	pop()
}

//export back
func back() {
	push(C.SHADOW_go_back)
	goLeaf()
	pop()
}

//go:noinline
func cross(season, direction uint32) {
	push(C.SHADOW_cross)
	switch season {
	case 0:
		C.spring(C.uint(direction))
	case 1:
		C.summer(C.uint(direction))
	case 2:
		C.autumn(C.uint(direction))
	case 3:
		C.winter(C.uint(direction))
	}
	pop()
}

//go:noinline
func north(season uint32) {
	push(C.SHADOW_north)
	cross(season, 0)
	pop()
}

//go:noinline
func east(season uint32) {
	push(C.SHADOW_east)
	cross(season, 1)
	pop()
}

//go:noinline
func south(season uint32) {
	push(C.SHADOW_south)
	cross(season, 2)
	pop()
}

//go:noinline
func west(season uint32) {
	push(C.SHADOW_west)
	cross(season, 3)
	pop()
}

var directions = [4]func(uint32){north, east, south, west}

func main() {
	if len(os.Args) < 2 {
		println("usage: cgo FILE [ROUNDS]")
		os.Exit(2)
	}
	var rounds *C.char
	if len(os.Args) > 2 {
		rounds = C.CString(os.Args[2])
	}
	count := uint32(C.chains_open(C.CString(os.Args[1]), rounds))
	slot = C.chains_slot()
	push(C.SHADOW_main)
	for i := uint32(0); i < count; i++ {
		directions[i%4](i / 4 % 4)
	}
}
