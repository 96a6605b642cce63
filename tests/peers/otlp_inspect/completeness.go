// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// What became of the stack of an observation.
type verdict int

const (
	complete         verdict = iota // the last frame is the program's entry or a thread's start
	incomplete                      // the user's stack was cut, or is missing
	inExec                          // the old address space is gone: there is no user stack
	inExit                          // the same
	kernelThread                    // complete
	kernelThreadOpen                // a kernel thread's, cut
)

// Frames of the kernel by their place.
func isKernelRoot(name string) bool {
	for _, prefix := range []string{"ret_from_fork", "kthread", "secondary_startup", "start_secondary",
		"start_kernel", "x86_64_start_kernel"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Kernel functions that run when a process gives up its address space. Those of exec are past the
// point of no return: other frames of execve, such as the copying of its arguments, still have the
// whole user stack below them.
var leavingNames = map[string]verdict{
	"begin_new_exec": inExec, "load_elf_binary": inExec, "do_exit": inExit,
}

// leaving says whether a kernel function is one of these; compilers add .constprop.0 and the like.
func leaving(name string) (verdict, bool) {
	name, _, _ = strings.Cut(name, ".")
	result, found := leavingNames[name]
	return result, found
}

// Where the kernel is entered from user space by a call.
func isSystemCall(name string) bool {
	return strings.HasPrefix(name, "do_syscall_64") || strings.HasPrefix(name, "entry_SYSCALL") ||
		strings.HasPrefix(name, "el0_svc") || strings.HasPrefix(name, "invoke_syscall")
}

// A location in short.
type frame struct {
	kind string // profile.frame.type; "none" without
	name string // of the function; empty: not known
}

// A location as the last one of a stack.
type end struct {
	frame
	root    bool
	missing bool // its file is not to be had, so there is no saying
	label   string
}

// judge decides about the frames and stacks of one request; each location once.
type judge struct {
	files      *files
	dictionary dictionary
	frames     map[int32]frame
	ends       map[int32]end
	nameables  map[int32]bool
}

func newJudge(files *files, dictionary dictionary) *judge {
	return &judge{files, dictionary, map[int32]frame{}, map[int32]end{}, map[int32]bool{}}
}

const kernelType = "kernel"

// A remark of the profiler where it gave up, in a frame's place.
const abortType = "abort-marker"

// Types of frames that are machine code of a file. Others are interpreters' own.
var nativeTypes = map[string]bool{"native": true, "go": true, "rust": true, "none": true}

func (j *judge) kindAndName(index int32) frame {
	result, known := j.frames[index]
	if known {
		return result
	}
	location := j.dictionary.location(index)
	result.kind = j.dictionary.attributeText(location.AttributeIndices(), "profile.frame.type")
	result.name = j.dictionary.name(location)
	if result.kind == "" {
		result.kind = "none"
	}
	j.frames[index] = result
	return result
}

// nameable says whether the file of a frame has a function's name for its address.
func (j *judge) nameable(index int32) bool {
	result, known := j.nameables[index]
	if known {
		return result
	}
	location := j.dictionary.location(index)
	key := j.dictionary.file(j.dictionary.mapping(location.MappingIndex()))
	if key.isFile() {
		file := j.files.open(key)
		result = file != nil && file.names(location.Address())
	}
	j.nameables[index] = result
	return result
}

func (j *judge) end(index int32) end {
	result, known := j.ends[index]
	if !known {
		result = j.judgeEnd(index)
		j.ends[index] = result
	}
	return result
}

func (j *judge) judgeEnd(index int32) end {
	location := j.dictionary.location(index)
	key := j.dictionary.file(j.dictionary.mapping(location.MappingIndex()))
	result := end{frame: j.kindAndName(index)}
	result.label = frameLabel(result.frame, key.name, location.Address())
	if !nativeTypes[result.kind] {
		return result
	}
	if key.isFile() {
		if file := j.files.open(key); file != nil {
			address := location.Address()
			result.root = file.holds(address) || file.saysNothing(address) && isRootName(result.name)
			return result
		}
		result.missing = true
	}
	// Names come from the profiler that is judged, and one without names must not lose by that:
	// they count only where there is nothing else to go by.
	result.root = isRootName(result.name)
	return result
}

func frameLabel(frame frame, file string, address uint64) string {
	text := frame.kind
	if file != "" {
		text += fmt.Sprintf(" %s+%x", filepath.Base(file), address)
	}
	if frame.name != "" {
		text += " " + frame.name
	}
	return text
}

// A stack, judged.
type stackVerdict struct {
	verdict verdict
	reason  string // of an incomplete one: its last frame
	missing bool   // that frame's file is not to be had
}

func (j *judge) stack(index int32, isKernelTask bool) stackVerdict {
	locations := j.dictionary.stack(index).LocationIndices()
	if locations.Len() == 0 {
		return stackVerdict{incomplete, "no frames", false}
	}
	last := j.end(locations.At(locations.Len() - 1))
	if isKernelTask && isKernelRoot(last.name) {
		return stackVerdict{kernelThread, "", false}
	}
	// Before any user frame: one profiler still gives the address of the system call itself, from
	// the saved registers, where another gives kernel frames only.
	if verdict, found := j.leaving(index); found {
		return stackVerdict{verdict, "", false}
	}
	if isKernelTask {
		return stackVerdict{kernelThreadOpen, last.label, false}
	}
	if last.kind == kernelType {
		return stackVerdict{incomplete, "kernel frames only", false}
	}
	if last.root {
		return stackVerdict{complete, "", false}
	}
	return stackVerdict{incomplete, last.label, last.missing}
}

// leaving says whether the process was giving up its address space.
func (j *judge) leaving(index int32) (verdict, bool) {
	for _, at := range j.dictionary.stack(index).LocationIndices().All() {
		frame := j.kindAndName(at)
		if frame.kind != kernelType {
			continue
		}
		if result, found := leaving(frame.name); found {
			return result, true
		}
	}
	return incomplete, false
}
