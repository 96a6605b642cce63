// SPDX-License-Identifier: Apache-2.0

// Burns CPU in functions that are only called while the goroutine has the labels that their comment
// says, and never else, so that a sample tells by its stack which labels it is to have.
package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
)

const rounds = 3000000

var sink uint64

//go:noinline
func burn() {
	value := sink
	for i := 0; i < rounds; i++ {
		value = value*6364136223846793005 + 1442695040888963407
	}
	sink = value
}

// None.
//
//go:noinline
func plain() { burn() }

// color=red
//
//go:noinline
func red() { burn() }

// color=blue shape=round
//
//go:noinline
func nested() { burn() }

// color=green
//
//go:noinline
func changed() { burn() }

// None.
//
//go:noinline
func removed() { burn() }

// color=red
//
//go:noinline
func inherited() { burn() }

// k00=v00 and so on to k11
//
//go:noinline
func twelve() { burn() }

// Twelve of k00=v00 and so on to k39.
//
//go:noinline
func forty() { burn() }

// long= 300 times x; wide= 200 times é, of two bytes each; empty=
//
//go:noinline
func long() { burn() }

// odd=, whose bytes are no text; and a key of 65 bytes, which is left out.
//
//go:noinline
func odd() { burn() }

// color=red, and the runtime works on another stack for it.
//
//go:noinline
func allocates() {
	for i := 0; i < 300; i++ {
		kept = make([]byte, 1<<16)
	}
}

var kept []byte

func with(call func(), labels ...string) {
	pprof.Do(context.Background(), pprof.Labels(labels...), func(context.Context) { call() })
}

func numbered(count int) []string {
	var labels []string
	for i := 0; i < count; i++ {
		labels = append(labels, fmt.Sprintf("k%02d", i), fmt.Sprintf("v%02d", i))
	}
	return labels
}

func nest() {
	outer := pprof.WithLabels(context.Background(), pprof.Labels("color", "red"))
	pprof.Do(outer, pprof.Labels("shape", "round", "color", "blue"), func(context.Context) {
		nested()
	})
}

func change() {
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("color", "green"))
	pprof.SetGoroutineLabels(ctx)
	changed()
	pprof.SetGoroutineLabels(context.Background())
	removed()
}

func inherit() {
	done := make(chan bool)
	go func() {
		inherited()
		done <- true
	}()
	<-done
}

func run() {
	odds := []string{"odd", "\xff\x00\n", strings.Repeat("k", 65), "v"}
	for {
		plain()
		with(red, "color", "red")
		nest()
		change()
		with(inherit, "color", "red")
		with(twelve, numbered(12)...)
		with(forty, numbered(40)...)
		with(long, "long", strings.Repeat("x", 300), "wide", strings.Repeat("é", 200),
			"empty", "")
		with(odd, odds...)
		with(allocates, "color", "red")
		for _, way := range ways {
			way()
		}
	}
}

// Further ones, with labels that they set themselves.
var ways []func()

func main() {
	runtime.GOMAXPROCS(2)
	go run()
	run()
}
