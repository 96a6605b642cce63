// SPDX-License-Identifier: Apache-2.0

// The chains of chains.h in Go: eight in the main goroutine and eight in another one.
package main

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// struct shadow of shadow.h, with the dimensions of this program.
const (
	slots  = 4
	chains = 128
	depth  = 64
	end    = 0xff
)

type slot struct {
	depth      uint32
	chainCount uint32
	stack      [depth]byte
	chains     [chains][depth]byte
}

type file struct {
	slots, chains, depth, reserved uint32
	names                          [64][32]byte
	slot                           [slots]slot
}

const (
	idMain = iota
	idWorker
	idDirections
	idSeasons = idDirections + 4
	idColours = idSeasons + 4
	idTurn    = idColours + 4
	idLight   = idTurn + 1
	idHeavy   = idLight + 1
)

var names = []string{
	"main.main", "main.worker",
	"main.north", "main.east", "main.south", "main.west",
	"main.spring", "main.summer", "main.autumn", "main.winter",
	"main.red", "main.green", "main.blue", "main.black",
	"main.turn", "main.light", "main.heavy",
}

const (
	workRounds = 50000
	turns      = 3
)

var (
	shadow *file
	rounds = uint64(1) << 40 // nobody waits for that
	done   = make(chan bool)
	sum    uint64
)

func (s *slot) push(id byte) {
	s.stack[s.depth%depth] = id
	s.depth++
}

func (s *slot) pop() {
	s.depth--
}

// Time spent here counts for the caller: a stack whose leaf it is counts without it.
//
//go:noinline
func (s *slot) record() {
	size := s.depth
	for chain := uint32(0); chain < s.chainCount && chain < chains; chain++ {
		at := uint32(0)
		for at < size && s.chains[chain][at] == s.stack[at] {
			at++
		}
		if at == size && s.chains[chain][at] == end {
			return
		}
	}
	if s.chainCount >= chains {
		s.chainCount = chains + 1
		return
	}
	copy(s.chains[s.chainCount][:], s.stack[:size])
	s.chains[s.chainCount][size] = end
	s.chainCount++
}

func work(rounds int) {
	x := uint64(88172645463325252)
	for ; rounds > 0; rounds-- {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sum = x
}

//go:noinline
func light(s *slot) {
	s.push(idLight)
	s.record()
	work(workRounds)
	s.pop()
}

//go:noinline
func heavy(s *slot) {
	s.push(idHeavy)
	s.record()
	work(3 * workRounds)
	s.pop()
}

//go:noinline
func turn(s *slot, left, direction int) {
	s.push(idTurn)
	if left > 1 {
		turn(s, left-1, direction)
	} else if direction%2 == 1 {
		heavy(s)
	} else {
		light(s)
	}
	s.pop()
}

//go:noinline
func red(s *slot, direction int) {
	s.push(idColours)
	turn(s, turns, direction)
	s.pop()
}

//go:noinline
func green(s *slot, direction int) {
	s.push(idColours + 1)
	turn(s, turns, direction)
	s.pop()
}

//go:noinline
func blue(s *slot, direction int) {
	s.push(idColours + 2)
	turn(s, turns, direction)
	s.pop()
}

//go:noinline
func black(s *slot, direction int) {
	s.push(idColours + 3)
	turn(s, turns, direction)
	s.pop()
}

var colours = [4]func(*slot, int){red, green, blue, black}

//go:noinline
func spring(s *slot, direction int) {
	s.push(idSeasons)
	colours[direction](s, direction)
	s.pop()
}

//go:noinline
func summer(s *slot, direction int) {
	s.push(idSeasons + 1)
	colours[(direction+1)%4](s, direction)
	s.pop()
}

//go:noinline
func autumn(s *slot, direction int) {
	s.push(idSeasons + 2)
	colours[(direction+2)%4](s, direction)
	s.pop()
}

//go:noinline
func winter(s *slot, direction int) {
	s.push(idSeasons + 3)
	colours[(direction+3)%4](s, direction)
	s.pop()
}

var seasons = [4]func(*slot, int){spring, summer, autumn, winter}

//go:noinline
func north(s *slot, season int) {
	s.push(idDirections)
	seasons[season](s, 0)
	s.pop()
}

//go:noinline
func east(s *slot, season int) {
	s.push(idDirections + 1)
	seasons[season](s, 1)
	s.pop()
}

//go:noinline
func south(s *slot, season int) {
	s.push(idDirections + 2)
	seasons[season](s, 2)
	s.pop()
}

//go:noinline
func west(s *slot, season int) {
	s.push(idDirections + 3)
	seasons[season](s, 3)
	s.pop()
}

var directions = [4]func(*slot, int){north, east, south, west}

// Without arguments, so that nothing wraps it.
//
//go:noinline
func worker() {
	s := &shadow.slot[1]
	s.push(idWorker)
	for i := uint64(0); i < rounds; i++ {
		directions[i%4](s, int(i/4%2)+2)
	}
	done <- true
}

func open(path string) *file {
	handle, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		err = handle.Truncate(int64(unsafe.Sizeof(file{})))
	}
	if err != nil {
		panic(err)
	}
	memory, err := syscall.Mmap(int(handle.Fd()), 0, int(unsafe.Sizeof(file{})),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	opened := (*file)(unsafe.Pointer(&memory[0]))
	opened.slots, opened.chains, opened.depth = slots, chains, depth
	for i, name := range names {
		copy(opened.names[i][:], name)
	}
	return opened
}

func main() {
	// Whoever runs this may be killed: do not burn on.
	syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
	if len(os.Args) < 2 {
		println("usage: chains FILE [ROUNDS]")
		os.Exit(2)
	}
	if len(os.Args) > 2 {
		rounds, _ = strconv.ParseUint(os.Args[2], 10, 32)
	}
	shadow = open(os.Args[1])
	go worker()
	s := &shadow.slot[0]
	s.push(idMain)
	for i := uint64(0); i < rounds; i++ {
		directions[i%4](s, int(i/4%2))
	}
	<-done
}
