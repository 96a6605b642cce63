// SPDX-License-Identifier: Apache-2.0

// Burns CPU in functions that keep their names and frames.
package main

import "os"

var (
	total  uint64
	buffer [1 << 20]byte
)

//go:noinline
func spinLeaf(rounds uint64) uint64 {
	sum := rounds
	for i := uint64(0); i < rounds; i++ {
		sum = sum*6364136223846793005 + i
	}
	return sum
}

//go:noinline
func spinRoot(zeros *os.File) {
	total += spinLeaf(1 << 18)
	// The kernel takes part as well.
	if _, err := zeros.Read(buffer[:]); err != nil {
		panic(err)
	}
}

func main() {
	zeros, err := os.Open("/dev/zero")
	if err != nil {
		panic(err)
	}
	for {
		spinRoot(zeros)
	}
}
