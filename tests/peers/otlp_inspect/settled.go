// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// What a profiler has to learn before it can walk a stack by tables: the process, each of its
// mappings, each page of a file's code. What it was asked for only a moment ago it may not have
// yet. An observation is settled when all that its stack shows was first seen this long before.
const settlingNs = 2_000_000_000

// Rules come in pages of this size, in every profiler that has pages.
const pageShift = 16

type subject int

const (
	processSubject subject = iota
	mappingSubject
	pageSubject
)

// One thing to be learnt.
type lesson struct {
	subject subject
	process int32 // of a process and a mapping; of a page of no file
	file    fileKey
	number  uint64 // mapping: its start; page: its number
}

type processIdentity struct {
	id, start, executable string
}

// sightings remembers when each thing was seen first.
type sightings struct {
	processes map[processIdentity]int32
	lessons   map[lesson]int32
	first     []uint64 // Unix nanoseconds, by lesson
}

func newSightings() *sightings {
	return &sightings{processes: map[processIdentity]int32{}, lessons: map[lesson]int32{}}
}

func number[Key comparable](table map[Key]int32, key Key) int32 {
	result, known := table[key]
	if !known {
		result = int32(len(table))
		table[key] = result
	}
	return result
}

func (s *sightings) lesson(key lesson) int32 {
	result := number(s.lessons, key)
	if int(result) == len(s.first) {
		s.first = append(s.first, ^uint64(0))
	}
	return result
}

// lessonsOf are what the stacks of one request show, each location once for each process.
type lessonsOf struct {
	all        *sightings
	dictionary dictionary
	known      map[[2]int32][]int32
}

func newLessonsOf(all *sightings, dictionary dictionary) *lessonsOf {
	return &lessonsOf{all, dictionary, map[[2]int32][]int32{}}
}

func attributeOf(at place, sample pprofile.Sample, keys ...string) string {
	for _, key := range keys {
		value, found := at.resource.Resource().Attributes().Get(key)
		if found && value.AsString() != "" {
			return value.AsString()
		}
		if text := at.dictionary.attributeText(sample.AttributeIndices(), key); text != "" {
			return text
		}
	}
	return ""
}

// process is the number of that which a sample is of.
func (l *lessonsOf) process(at place, sample pprofile.Sample) int32 {
	return number(l.all.processes, processIdentity{
		id:         attributeOf(at, sample, "process.pid"),
		start:      attributeOf(at, sample, "process.creation.time"),
		executable: attributeOf(at, sample, "process.executable.path", "process.executable.name"),
	})
}

// location is what one frame shows; nothing when it is none of a user's machine code.
func (l *lessonsOf) location(process, index int32) []int32 {
	key := [2]int32{process, index}
	if result, known := l.known[key]; known {
		return result
	}
	d := l.dictionary
	location := d.location(index)
	kind := d.attributeText(location.AttributeIndices(), "profile.frame.type")
	var result []int32
	if nativeTypes[kind] || kind == "" {
		mapping := d.mapping(location.MappingIndex())
		file := d.file(mapping)
		page := lesson{pageSubject, 0, file, location.Address() >> pageShift}
		if file.name == "" {
			page.process = process + 1
		} else {
			result = append(result, l.all.lesson(lesson{mappingSubject, process, file,
				mapping.MemoryStart()}))
		}
		result = append(result, l.all.lesson(page))
	}
	l.known[key] = result
	return result
}

// each calls `visit` for all that the sample shows.
func (l *lessonsOf) each(at place, sample pprofile.Sample, visit func(lesson int32)) {
	process := l.process(at, sample)
	visit(l.all.lesson(lesson{subject: processSubject, process: process}))
	for _, index := range l.dictionary.stack(sample.StackIndex()).LocationIndices().All() {
		for _, one := range l.location(process, index) {
			visit(one)
		}
	}
}

// see notes what a sample shows, and when.
func (l *lessonsOf) see(at place, sample pprofile.Sample) {
	times := sample.TimestampsUnixNano().AsRaw()
	if len(times) == 0 {
		return
	}
	when := slices.Min(times)
	l.each(at, sample, func(lesson int32) {
		l.all.first[lesson] = min(l.all.first[lesson], when)
	})
}

// settled is how many of a sample's observations in the window are. Of those without a time there
// is no saying: they are not.
func (l *lessonsOf) settled(at place, sample pprofile.Sample, window window) (count int) {
	last := uint64(0)
	l.each(at, sample, func(lesson int32) {
		last = max(last, l.all.first[lesson])
	})
	for _, when := range sample.TimestampsUnixNano().All() {
		if window.holds(when) && when >= settlingNs && when-settlingNs >= last {
			count++
		}
	}
	return count
}

// ---- language runtimes ----

const nativeOnly = "native"

var runtimeTypes = map[string]string{"v8js": "V8", "jvm": "HotSpot", "cpython": "CPython"}

// Functions that run a script's code, where the profiler does not tell its frames.
var runtimeFunctions = []struct{ prefix, runtime string }{
	{"Builtins_", "V8"}, {"_PyEval_EvalFrame", "CPython"},
}

// Programs whose code in no file is made by a runtime.
var runtimePrograms = map[string]string{"node": "V8", "java": "HotSpot"}

// Code in no file of any other program: generated, by whatever it is.
const someJIT = "JIT"

// runtimeOf is the language runtime whose code the stack leads through, or nativeOnly.
func (j *judge) runtimeOf(at place, sample pprofile.Sample) string {
	ofProgram := cmp.Or(runtimePrograms[programOf(at, sample)], someJIT)
	for _, index := range j.dictionary.stack(sample.StackIndex()).LocationIndices().All() {
		frame := j.kindAndName(index)
		if result := runtimeTypes[frame.kind]; result != "" {
			return result
		}
		if !nativeTypes[frame.kind] {
			continue
		}
		for _, one := range runtimeFunctions {
			if strings.HasPrefix(frame.name, one.prefix) {
				return one.runtime
			}
		}
		mapping := j.dictionary.mapping(j.dictionary.location(index).MappingIndex())
		if j.dictionary.text(mapping.FilenameStrindex()) == "" {
			return ofProgram
		}
	}
	return nativeOnly
}
