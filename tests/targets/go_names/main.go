// SPDX-License-Identifier: Apache-2.0

// Burns CPU at the end of many chains of calls, and tells of each what runtime.CallersFrames says.
// Every chain has its own caller of burn, so that a sample belongs to one of them.
//
// Arguments: the file to tell in, one chain a line as JSON: [[function, file, line, first line]...]
// from the caller of burn on. A line "done" ends it, when all chains have been told.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"sort"
	"strings"
	"sync"
)

const roundsOfBurn = 1000000

var (
	ways []func()
	told = map[string]bool{}
	lock sync.Mutex
	sink uint64
	file *os.File
)

// tell notes the chain from the caller of burn on; skip counts the frames before it.
func tell(skip int) {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(skip, pcs)])
	var chain [][]interface{}
	for {
		frame, more := frames.Next()
		first := int64(0)
		if field := reflect.ValueOf(frame).FieldByName("startLine"); field.IsValid() {
			first = field.Int()
		}
		chain = append(chain, []interface{}{frame.Function, frame.File, frame.Line, first})
		if !more {
			break
		}
	}
	text, err := json.Marshal(chain)
	if err != nil {
		panic(err)
	}
	lock.Lock()
	defer lock.Unlock()
	if !told[string(text)] {
		told[string(text)] = true
		fmt.Fprintf(file, "%s\n", text)
	}
}

//go:noinline
func burn() {
	if file == nil { // while the program begins
		return
	}
	tell(3)
	x := uint64(88172645463325252)
	for i := 0; i < roundsOfBurn; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink = x
}

// ---- inlined calls ----

func inner() { burn() }

func middle(twice bool) {
	inner()
	if twice {
		inner()
	}
}

func outer() { middle(true) }

func inlinedDeep() {
	outer()
	middle(false)
	inner()
}

type counter struct{ n int }

func (c *counter) step() {
	c.n++
	burn()
}

func (c counter) peek() int {
	burn()
	return c.n
}

func inlinedMethods() {
	c := &counter{}
	c.step()
	sink += uint64(c.peek())
}

// ---- closures ----

//go:noinline
func apply(f func()) {
	f()
}

func closures() {
	n := 0
	apply(func() {
		n++
		burn()
		func() {
			burn()
		}()
		apply(func() { inner() })
	})
}

func through(f func()) { f() }

func inlinedClosure() {
	through(func() { burn() })
}

// ---- wrappers ----

type runner interface{ run() }

type value struct{ a, b, c int }

//go:noinline
func (v value) run() { burn() }

// Exported for reflect to find it.
//
//go:noinline
func (v value) Run() { burn() }

type smallValue struct{ a int }

func (v smallValue) run() { inner() }

type embedding struct {
	name string
	value
}

type embeddingPointer struct {
	*counterRunner
}

type counterRunner struct{ n int }

//go:noinline
func (c *counterRunner) run() {
	c.n++
	burn()
}

//go:noinline
func runAny(r runner) { r.run() }

func wrappers() {
	runAny(&value{})
	runAny(&smallValue{})
	runAny(embedding{})
	runAny(&embedding{})
	runAny(embeddingPointer{&counterRunner{}})
}

func methodValues() {
	v := value{}
	apply(v.run)
	apply((&counterRunner{}).run)
	apply(embedding{}.run)
	var r runner = v
	apply(r.run)
	expression := (*counterRunner).run
	expression(&counterRunner{})
}

// ---- defers and panics ----

//go:noinline
func withArgument(n int) {
	sink += uint64(n)
	burn()
}

func deferred() {
	defer burn()
	defer withArgument(1)
	defer func() {
		burn()
	}()
	sink++
}

func deferredInLoop() {
	for i := 0; i < 3; i++ {
		defer withArgument(i)
	}
}

func recovering(f func()) {
	defer func() {
		burn()
		_ = recover()
	}()
	f()
}

//go:noinline
func dereference(p *value) int { return p.c }

//go:noinline
func index(slice []int, at int) int { return slice[at] }

func panics() {
	recovering(func() { panic("on purpose") })
	recovering(func() { sink += uint64(dereference(nil)) })
	recovering(func() { sink += uint64(index(nil, 3)) })
	recovering(func() {
		var missing *value
		runAny(missing)
	})
	recovering(func() {
		defer func() { panic("again") }()
		panic("once")
	})
}

// ---- the library's functions between ours ----

func library() {
	sort.Slice([]int{2, 1}, func(i, j int) bool {
		burn()
		return i < j
	})
	sort.Sort(sorted{2, 1})
	_ = strings.Map(func(r rune) rune {
		burn()
		return r
	}, "a")
	var once sync.Once
	once.Do(func() { burn() })
	reflect.ValueOf(withArgument).Call([]reflect.Value{reflect.ValueOf(7)})
	reflect.ValueOf(value{}).Method(0).Call(nil)
}

type sorted []int

func (s sorted) Len() int           { return len(s) }
func (s sorted) Less(i, j int) bool { inner(); return s[i] < s[j] }
func (s sorted) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

// ---- goroutines ----

func goroutines() {
	var group sync.WaitGroup
	group.Add(4)
	go func() {
		defer group.Done()
		burn()
	}()
	go func(n int) {
		withArgument(n)
		group.Done()
	}(3)
	go inGoroutine(5, &group)
	runs := runInGoroutine{&group}
	go runs.run()
	group.Wait()
}

//go:noinline
func inGoroutine(n int, group *sync.WaitGroup) {
	withArgument(n)
	group.Done()
}

type runInGoroutine struct{ group *sync.WaitGroup }

func (r runInGoroutine) run() {
	inner()
	r.group.Done()
}

// ---- recursion ----

//go:noinline
func recursive(depth int) {
	if depth == 0 {
		burn()
		return
	}
	recursive(depth - 1)
}

func recursion() { recursive(20) }

func all() {
	for _, way := range ways {
		way()
	}
}

func main() {
	var err error
	file, err = os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	ways = append(ways, inlinedDeep, inlinedMethods, closures, inlinedClosure, wrappers,
		methodValues, deferred, deferredInLoop, panics, library, goroutines, recursion)
	for round := 0; ; round++ {
		all()
		if round == 1 { // a sync.Once, or a collection, may come in the first one only
			fmt.Fprintln(file, "done")
		}
	}
}
