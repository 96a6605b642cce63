// SPDX-License-Identifier: Apache-2.0

// Goroutines whose stacks grow and are given back, threads that begin on what was given back, and a
// collector that works on these: stacks of the runtime lie where goroutines' lay before.
package main

import (
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
)

var sink [][]byte

//go:noinline
func grow(depth int) byte {
	var room [1024]byte

	room[depth%len(room)] = byte(depth)
	if depth == 0 {
		return work(&room)
	}
	return grow(depth-1) + room[0]
}

//go:noinline
func work(room *[1024]byte) byte {
	for i := 0; i < 20000; i++ {
		room[i%len(room)] += byte(i)
	}
	return room[7]
}

// A thread of its own, which ends with the goroutine.
func locked(group *sync.WaitGroup) {
	defer group.Done()
	runtime.LockOSThread()
	grow(2)
}

func growing(group *sync.WaitGroup) {
	defer group.Done()
	grow(14)
}

func main() {
	signals := make(chan os.Signal, 64)

	signal.Notify(signals, syscall.SIGUSR1)
	for {
		var group sync.WaitGroup

		group.Add(16)
		for i := 0; i < 8; i++ {
			go growing(&group)
			go locked(&group)
		}
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		sink = append(sink, make([]byte, 1<<16))
		if len(sink) > 64 {
			sink = nil
			runtime.GC()
		}
		group.Wait()
		time.Sleep(100 * time.Microsecond)
	}
}
