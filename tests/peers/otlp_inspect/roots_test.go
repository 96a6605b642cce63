// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
)

const program = `
#include <pthread.h>
#include <stdio.h>
static void *run(void *arg) { return arg; }
int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); puts(""); }
`

// compile makes a program, stripped of its symbol table, and gives the address of main.
func compile(t *testing.T, flags ...string) (path string, main uint64) {
	t.Helper()
	folder := t.TempDir()
	source, path := filepath.Join(folder, "program.c"), filepath.Join(folder, "program")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := append(flags, "-O2", "-o", path, source)
	if out, err := exec.Command("cc", arguments...).CombinedOutput(); err != nil {
		t.Skipf("no C compiler here (%v: %s); install gcc", err, out)
	}
	main = symbol(t, path, (*elf.File).Symbols, "main").Value
	if out, err := exec.Command("strip", path).CombinedOutput(); err != nil {
		t.Skipf("no strip here (%v: %s); install binutils", err, out)
	}
	return path, main
}

func symbol(t *testing.T, path string, table func(*elf.File) ([]elf.Symbol, error), name string) elf.Symbol {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, _ := table(file)
	for _, one := range symbols {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("%s has no symbol %s", path, name)
	return elf.Symbol{}
}

func TestNamesAreExpectedWhereTheFileHasThem(t *testing.T) {
	// In the dynamic symbols main outlives the stripping.
	for _, exported := range []bool{false, true} {
		var flags []string
		if exported {
			flags = append(flags, "-rdynamic")
		}
		path, main := compile(t, flags...)
		b := newBuilder()
		b.sample(b.profile(path), []uint64{1, 2}, b.location("native", "main", path, main),
			b.location("native", "", path, main+1), b.location("native", "f", "/nowhere/x", main))
		s, err := summarize([]request{b.request(t)}, newFiles(nil), always)
		if err != nil {
			t.Fatal(err)
		}
		want := [2]int{}
		if exported {
			want = [2]int{4, 2}
		}
		if got := [2]int{s.All.Nameable, s.All.NameableNamed}; got != want || s.All.Native != 6 {
			t.Errorf("exported %t: %v of %d, want %v", exported, got, s.All.Native, want)
		}
	}
}

func TestSpansThatLieOverEachOtherAreOne(t *testing.T) {
	got := merge([]span{{8, 9}, {1, 5}, {2, 3}, {4, 6}, {9, 10}})
	if want := []span{{1, 6}, {8, 10}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAStrippedProgramEndsAtItsEntry(t *testing.T) {
	path, main := compile(t)
	result, err := readRoots(path)
	if err != nil {
		t.Fatal(err)
	}
	if !result.holds(result.entry + 0x20) {
		t.Error("the entry point is no root")
	}
	if main >= result.entry && main < result.entry+entryBytes {
		t.Skip("main stands too close to the entry point")
	}
	if result.holds(main + 8) {
		t.Error("main is a root")
	}
}

// Without symbols and away from the entry point only the CFI of the C library tells.
func TestThreadsOfAStrippedStaticProgramEndInClone(t *testing.T) {
	path, main := compile(t, "-static")
	result, err := readRoots(path)
	if err != nil {
		t.Fatal(err)
	}
	ends := 0
	for _, one := range result.frames {
		for address := one.begin; address < one.end && address < one.begin+512; address++ {
			if one.returnUndefined(address, result.file.ByteOrder, true) {
				ends++
				break
			}
		}
	}
	// _start, clone, clone3 and few others; thousands of functions that return.
	if ends < 2 || ends > 40 || len(result.frames) < 500 {
		t.Errorf("%d of %d functions do not return", ends, len(result.frames))
	}
	if result.holds(main + 8) {
		t.Error("main is a root")
	}
}

func TestAGoroutineEndsInGoexit(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	result, err := readRoots(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		address uint64
		root    bool
	}{
		{uint64(runtime.FuncForPC(returnAddress()).Entry()), false},
		{uint64(goexit(t)) + 1, true},
	} {
		if result.holds(test.address) != test.root {
			t.Errorf("%#x: root is %v", test.address, !test.root)
		}
	}
}

func returnAddress() uintptr {
	return reflect.ValueOf(compile).Pointer()
}

// goexit is where the frame lies that called everything on this goroutine.
func goexit(t *testing.T) uintptr {
	t.Helper()
	callers := make([]uintptr, 64)
	callers = callers[:runtime.Callers(0, callers)]
	last := callers[len(callers)-1]
	if name := runtime.FuncForPC(last).Name(); name != "runtime.goexit" {
		t.Fatalf("the last caller is %s", name)
	}
	return last
}

// Only one of the profilers names native frames; a name must win or lose nothing for it.
func TestTheFileDecidesBeforeTheName(t *testing.T) {
	path, main := compile(t)
	roots, err := readRoots(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		name, file string
		address    uint64
		want       tally
	}{
		"entry, no name":     {"", path, roots.entry + 0x20, tally{Complete: 1}},
		"entry, other name":  {"f", path, roots.entry + 0x20, tally{Complete: 1}},
		"main as _start":     {"_start", path, main + 8, tally{Incomplete: 1}},
		"no file, _start":    {"_start", path + ".gone", 1, tally{Complete: 1}},
		"no file, no name":   {"", path + ".gone", 1, tally{Incomplete: 1, FileMissing: 1}},
		"pseudo file, clone": {"clone3", "[vdso]", 1, tally{Complete: 1}},
	} {
		b := newBuilder()
		b.sample(b.profile(path), []uint64{1}, b.location("native", test.name, test.file, test.address))
		s, err := summarize([]request{b.request(t)}, newFiles(nil), always)
		if err != nil {
			t.Fatal(err)
		}
		got := tally{Complete: s.All.Complete, Incomplete: s.All.Incomplete, FileMissing: s.All.FileMissing}
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestFilesAreFoundByNameAndBuildID(t *testing.T) {
	path, _ := compile(t)
	key := fileKey{name: "program", htlhash: headTailHash(path)}
	if newFiles([]string{filepath.Dir(path)}).open(key) == nil {
		t.Error("not found below a root")
	}
	executables := newFiles(nil)
	executables.addExecutable(path)
	if executables.open(key) == nil {
		t.Error("not found as a resource's executable")
	}
	if newFiles(nil).open(fileKey{name: path}) == nil {
		t.Error("not found at its path")
	}
	key.htlhash = "00"
	if newFiles([]string{filepath.Dir(path)}).open(key) != nil {
		t.Error("a file with another build id was taken")
	}
}

func TestHeadTailHash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for content, want := range map[string]string{
		"":      "af5570f5a1810b7af78caf4bc70a660f",
		"hello": "b2c90e0c61910efa8c079b70039694de",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := headTailHash(path); got != want {
			t.Errorf("%q: %s, want %s", content, got, want)
		}
	}
}

// Where a C linker has put its own code in front.
func TestGoTextMayBeginBehindOtherCode(t *testing.T) {
	table := make([]byte, 32)
	binary.LittleEndian.PutUint32(table, 0xfffffff1)
	text := &elf.Section{SectionHeader: elf.SectionHeader{Addr: 0x1000, Size: 0x100}}
	for says, want := range map[uint64]uint64{0x1080: 0x1080, 0: 0x1000, 0x1100: 0x1000} {
		binary.LittleEndian.PutUint64(table[24:], says)
		for _, kind := range []elf.Type{elf.ET_EXEC, elf.ET_DYN} {
			file := &elf.File{FileHeader: elf.FileHeader{Type: kind, Class: elf.ELFCLASS64,
				ByteOrder: binary.LittleEndian}}
			if kind == elf.ET_DYN {
				want = 0x1000
			}
			if got := goTextStart(file, text, table); got != want {
				t.Errorf("%v, the table says %#x: %#x, want %#x", kind, says, got, want)
			}
		}
	}
}
