// SPDX-License-Identifier: Apache-2.0

//go:build cgo
// +build cgo

package main

// void intoC(void);
// void backToGo(void);
import "C"

//export backToGo
func backToGo() {
	inner()
}

func throughC() {
	C.intoC()
}

func init() { ways = append(ways, throughC) }
