// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"debug/elf"
	"debug/gosym"
	"slices"
	"sort"
	"strings"
)

// Functions that nothing has called: a program's entry, a thread's start, and where the Go runtime
// leaves a goroutine's stack.
var rootNames = map[string]bool{
	"_start": true, "_dl_start_user": true, "thread_start": true, "start_thread": true,
	"clone": true, "__clone": true, "clone3": true, "__clone3": true, "__clone_internal": true,
	"runtime.goexit": true, "runtime.rt0_go": true, "runtime.mstart": true, "runtime.mcall": true,
	"runtime.morestack": true,
	"_rt0_amd64":        true, "_rt0_amd64_linux": true, "_rt0_arm64_linux": true,
}

func isRootName(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return rootNames[strings.TrimSuffix(name, ".abi0")]
}

// The code of an entry point without a symbol: the call in it is this near.
const entryBytes = 64

// Where in one ELF file stacks end.
type elfRoots struct {
	entry  uint64 // 0: a library
	spans  []span // of functions in the symbol tables that are such ends
	named  []span // of all functions in them, in order, none within another
	frames []frameEntry
	lines  *gosym.Table // nil: not Go, or not to be read
	isGo   bool
	file   *elf.File
}

type span struct {
	begin, end uint64
}

func readRoots(path string) (*elfRoots, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	result := &elfRoots{entry: file.Entry, frames: readFrames(file), lines: readGoLines(file),
		isGo: file.Section(".go.buildinfo") != nil, file: file}
	for _, read := range []func() ([]elf.Symbol, error){file.Symbols, file.DynamicSymbols} {
		symbols, err := read()
		if err != nil {
			continue
		}
		for _, symbol := range symbols {
			if symbol.Section == elf.SHN_UNDEF {
				continue
			}
			if isFunction(symbol) {
				result.named = append(result.named, span{symbol.Value, symbol.Value + symbol.Size})
			}
			if isRootName(symbol.Name) {
				size := symbol.Size
				if size == 0 {
					size = entryBytes
				}
				result.spans = append(result.spans, span{symbol.Value, symbol.Value + size})
			}
		}
	}
	result.named = merge(result.named)
	return result, nil
}

// isFunction leaves out those without a size: where they end nobody knows.
func isFunction(symbol elf.Symbol) bool {
	kind := elf.ST_TYPE(symbol.Info)
	return (kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC) && symbol.Size > 0 && symbol.Name != ""
}

// merge sorts spans and makes one of those that lie over each other.
func merge(spans []span) (merged []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	for _, one := range spans {
		if last := len(merged) - 1; last >= 0 && one.begin <= merged[last].end {
			merged[last].end = max(merged[last].end, one.end)
		} else {
			merged = append(merged, one)
		}
	}
	return merged
}

// names says whether the file has a function's name for an address.
func (r *elfRoots) names(address uint64) bool {
	if r.lines != nil && r.lines.PCToFunc(address) != nil {
		return true
	}
	next := sort.Search(len(r.named), func(i int) bool { return r.named[i].begin > address })
	return next > 0 && address < r.named[next-1].end
}

// goTextStart is what the table's entries are relative to. A C linker puts code of its own in front
// of Go's. The table says where that begins, since Go 1.18; in Go 1.26 no more, nor where it would
// have to be relocated.
func goTextStart(file *elf.File, text *elf.Section, table []byte) uint64 {
	const textStartAt, magic118, magic120 = 24, 0xfffffff0, 0xfffffff1
	if file.Type != elf.ET_EXEC || file.Class != elf.ELFCLASS64 || len(table) < textStartAt+8 {
		return text.Addr
	}
	magic := file.ByteOrder.Uint32(table)
	start := file.ByteOrder.Uint64(table[textStartAt:])
	if magic != magic118 && magic != magic120 || start < text.Addr || start-text.Addr >= text.Size {
		return text.Addr
	}
	return start
}

func readGoLines(file *elf.File) *gosym.Table {
	text := file.Section(".text")
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		section := file.Section(name)
		if section == nil || text == nil {
			continue
		}
		bytes, err := section.Data()
		if err != nil {
			return nil
		}
		table, err := gosym.NewTable(nil, gosym.NewLineTable(bytes, goTextStart(file, text, bytes)))
		if err != nil {
			return nil
		}
		return table
	}
	return nil
}

// holds says whether a stack ends at `address`, which is the frame's own: a profiler that gives
// return addresses as they are is one off, so the byte before counts as well.
func (r *elfRoots) holds(address uint64) bool {
	return r.holdsExactly(address) || address > 0 && r.holdsExactly(address-1)
}

// saysNothing of an address: a Go program's table that is not to be read, or is wrong about it.
func (r *elfRoots) saysNothing(address uint64) bool {
	return r.isGo && (r.lines == nil || r.lines.PCToFunc(address) == nil)
}

func (r *elfRoots) holdsExactly(address uint64) bool {
	if r.entry != 0 && address >= r.entry && address < r.entry+entryBytes {
		return true
	}
	for _, one := range r.spans {
		if address >= one.begin && address < one.end {
			return true
		}
	}
	if r.lines != nil {
		if function := r.lines.PCToFunc(address); function != nil && isRootName(function.Name) {
			return true
		}
	}
	next := sort.Search(len(r.frames), func(i int) bool { return r.frames[i].begin > address })
	if next == 0 {
		return false
	}
	entry := r.frames[next-1]
	return address < entry.end && entry.returnUndefined(address, r.file.ByteOrder,
		r.file.Class == elf.ELFCLASS64)
}
