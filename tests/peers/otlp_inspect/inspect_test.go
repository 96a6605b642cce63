// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// builder makes requests with one profile for each process.
type builder struct {
	pprofile.Profiles
	strings map[string]int32
}

func newBuilder() *builder {
	b := &builder{pprofile.NewProfiles(), map[string]int32{}}
	d := b.Dictionary()
	d.MappingTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	d.FunctionTable().AppendEmpty()
	d.LinkTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	d.StackTable().AppendEmpty()
	b.text("")
	return b
}

func (b *builder) text(text string) int32 {
	index, known := b.strings[text]
	if !known {
		index = int32(b.Dictionary().StringTable().Len())
		b.Dictionary().StringTable().Append(text)
		b.strings[text] = index
	}
	return index
}

func (b *builder) attribute(key, value string) int32 {
	table := b.Dictionary().AttributeTable()
	attribute := table.AppendEmpty()
	attribute.SetKeyStrindex(b.text(key))
	attribute.Value().SetStr(value)
	return int32(table.Len() - 1)
}

// location is a frame; `name` and `file` may be empty.
func (b *builder) location(kind, name, file string, address uint64) int32 {
	table := b.Dictionary().LocationTable()
	location := table.AppendEmpty()
	location.SetAddress(address)
	location.AttributeIndices().Append(b.attribute("profile.frame.type", kind))
	if name != "" {
		function := b.Dictionary().FunctionTable().AppendEmpty()
		function.SetNameStrindex(b.text(name))
		location.Lines().AppendEmpty().SetFunctionIndex(int32(b.Dictionary().FunctionTable().Len() - 1))
	}
	if file != "" {
		mapping := b.Dictionary().MappingTable().AppendEmpty()
		mapping.SetFilenameStrindex(b.text(file))
		location.SetMappingIndex(int32(b.Dictionary().MappingTable().Len() - 1))
	}
	return int32(table.Len() - 1)
}

func (b *builder) profile(executable string) pprofile.Profile {
	resource := b.ResourceProfiles().AppendEmpty()
	if executable != "" {
		resource.Resource().Attributes().PutStr("process.executable.path", executable)
	}
	profile := resource.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	profile.SampleType().SetTypeStrindex(b.text("samples"))
	profile.SampleType().SetUnitStrindex(b.text("count"))
	return profile
}

func (b *builder) sample(profile pprofile.Profile, times []uint64, locations ...int32) pprofile.Sample {
	stack := b.Dictionary().StackTable().AppendEmpty()
	stack.LocationIndices().FromRaw(locations)
	sample := profile.Samples().AppendEmpty()
	sample.SetStackIndex(int32(b.Dictionary().StackTable().Len() - 1))
	sample.TimestampsUnixNano().FromRaw(times)
	return sample
}

func (b *builder) request(t *testing.T) request {
	t.Helper()
	raw, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(b.Profiles)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(raw)
	if err != nil {
		t.Fatal(err)
	}
	return request{raw, decoded}
}

var always = window{0, math.MaxUint64}

func textOf(t *testing.T, one request, window window, sorted bool) string {
	t.Helper()
	var out bytes.Buffer
	if err := printText(&out, []request{one}, window, sorted); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestFilesOfOneRequestAndStreamsAreToldApart(t *testing.T) {
	b := newBuilder()
	b.sample(b.profile("/bin/a"), []uint64{1}, b.location("kernel", "f", "", 1))
	raw := b.request(t).raw
	framed := append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...)
	for name, test := range map[string]struct {
		content       []byte
		requests, cut int
	}{
		"one request": {raw, 1, 0},
		"two frames":  {append(append([]byte{}, framed...), framed...), 2, 0},
		"cut short":   {append(append([]byte{}, framed...), framed[:20]...), 1, 20},
		"cut length":  {append(append([]byte{}, framed...), 0, 0), 1, 2},
		"nothing":     {nil, 0, 0},
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, test.content, 0o600); err != nil {
			t.Fatal(err)
		}
		requests, cut, err := readRequests(path)
		if err != nil || len(requests) != test.requests || cut != test.cut {
			t.Errorf("%s: %d requests, %d bytes cut, error %v", name, len(requests), cut, err)
		}
	}
}

func TestTextHasEveryField(t *testing.T) {
	b := newBuilder()
	profile := b.profile("/bin/\"a\n")
	resource := b.ResourceProfiles().At(0)
	resource.SetSchemaUrl("schema")
	resource.Resource().SetDroppedAttributesCount(2)
	resource.Resource().Attributes().PutEmptySlice("list").AppendEmpty().SetInt(-1)
	resource.Resource().Attributes().PutDouble("real", 0.5)
	scope := resource.ScopeProfiles().At(0)
	scope.Scope().SetName("scope")
	scope.Scope().SetVersion("1")
	profile.SetTime(100)
	profile.SetDurationNano(50)
	profile.SetPeriod(10)
	profile.SetProfileID([16]byte{1: 0xff})
	profile.SetOriginalPayloadFormat("pprof")
	profile.OriginalPayload().Append(0xab)
	location := b.location("native", "f", "/lib/x", 0x1f)
	line := b.Dictionary().LocationTable().At(int(location)).Lines().At(0)
	line.SetLine(7)
	b.Dictionary().FunctionTable().At(int(line.FunctionIndex())).SetSystemNameStrindex(b.text("_f"))
	sample := b.sample(profile, []uint64{101, 102}, location, b.location("kernel", "", "", 2))
	sample.Values().Append(3, 4)
	link := b.Dictionary().LinkTable().AppendEmpty()
	link.SetTraceID(pcommon.TraceID{1})
	link.SetSpanID(pcommon.SpanID{2})
	sample.SetLinkIndex(1)
	sample.AttributeIndices().Append(b.attribute("thread.name", "\x01\xff"))

	head := `resource {"process.executable.path"="/bin/\"a\n", ` +
		`"list"=array:2a0d0a0b18ffffffffffffffffff01, "real"=0.5/3fe0000000000000} ` +
		`"schema" dropped 2 entities: | scope "scope" "1" {} "" dropped 0 | ` +
		`profile "samples"/"count" every 10 ""/"" from 100 for 50 id 00ff0000000000000000000000000000 {} ` +
		`dropped 0 payload "pprof" bytes:ab | ` +
		`["/lib/x"[0-0@0]+1f "f"("_f")@""0:7:0{"profile.frame.type"="native"}; ` +
		`+2{"profile.frame.type"="kernel"}] {"thread.name"="\x01\xff"} ` +
		`link 01000000000000000000000000000000/0200000000000000`
	want := head + " value 3 at 101\n" + head + " value 4 at 102\n"
	if text := textOf(t, b.request(t), always, false); text != want {
		t.Errorf("got\n%swant\n%s", text, want)
	}
	if text := textOf(t, b.request(t), window{102, 103}, false); text != head+" value 4 at 102\n" {
		t.Errorf("the window let through\n%s", text)
	}
}

func TestSortedTextDoesNotDependOnTheOrder(t *testing.T) {
	make := func(names ...string) string {
		b := newBuilder()
		for _, name := range names {
			b.sample(b.profile("/bin/"+name), []uint64{1}, b.location("kernel", name, "", 1))
		}
		return textOf(t, b.request(t), always, true)
	}
	if a, b := make("a", "b", "c"), make("c", "a", "b"); a != b {
		t.Errorf("differ:\n%s\n%s", a, b)
	}
}

func TestAnIndexBeyondItsTableIsAnError(t *testing.T) {
	b := newBuilder()
	b.sample(b.profile(""), []uint64{1}, 99)
	one := b.request(t)
	if err := printText(&bytes.Buffer{}, []request{one}, always, false); err == nil ||
		!strings.Contains(err.Error(), "request 1 of 1: location index 99 of a table of 1") {
		t.Errorf("error %v", err)
	}
	if _, err := summarize([]request{one}, newFiles(nil), always); err == nil {
		t.Error("the summary took it")
	}
}

func TestCompletenessIsDecidedByTheLastFrame(t *testing.T) {
	b := newBuilder()
	user := b.profile("/nowhere/prog")
	kernel := b.location("kernel", "do_syscall_64", "", 1)
	main := b.location("native", "main", "/nowhere/prog", 2)
	start := b.location("native", "_start", "/nowhere/prog", 3)
	python := b.location("cpython", "<module>", "", 0)
	abort := b.location("abort-marker", "[broken frame pointers]", "", 0)
	times := []uint64{1, 2}
	b.sample(user, times, kernel, main, start)
	b.sample(user, times, main, b.location("go", "runtime.goexit.abi0", "/nowhere/prog", 4))
	b.sample(user, times, python)
	b.sample(user, times, main, start, abort)
	b.sample(user, times, main)
	b.sample(user, times, kernel)
	b.sample(user, times, b.location("kernel", "begin_new_exec", "", 5), kernel)
	b.sample(user, times, b.location("kernel", "do_exit", "", 6), kernel)
	task := b.profile("")
	b.sample(task, times, b.location("kernel", "kswapd", "", 7), b.location("kernel", "ret_from_fork_asm", "", 8))
	b.sample(task, times, b.location("kernel", "kswapd", "", 9))

	s, err := summarize([]request{b.request(t)}, newFiles(nil), always)
	if err != nil {
		t.Fatal(err)
	}
	want := tally{Observations: 16, Complete: 4, Incomplete: 8, InExec: 2, InExit: 2,
		CompleteShare: 1. / 3, FileMissing: 2, Frames: 28, Native: 14, NativeNamed: 14}
	if got := *s.Programs["prog"]; got != want {
		t.Errorf("prog: %+v, want %+v", got, want)
	}
	if got := s.KernelThreads; got.Observations != 4 || got.Complete != 2 || got.Incomplete != 2 {
		t.Errorf("kernel threads: %+v", got)
	}
	if s.All.Complete != 6 || s.All.Incomplete != 10 || s.Wire.Observations != 20 {
		t.Errorf("all: %+v, wire %+v", s.All, s.Wire)
	}
	if s.Cuts[0].Observations != 2 {
		t.Errorf("cuts: %+v", s.Cuts)
	}
}

// One profiler keeps the address of the system call where there is no user stack any more, another
// gives kernel frames only: neither is incomplete.
func TestExitsAndExecsAreJudgedAlikeWithAndWithoutUserFrames(t *testing.T) {
	kernel := func(b *builder, names ...string) (locations []int32) {
		for _, name := range append(names, "do_syscall_64") {
			locations = append(locations, b.location("kernel", name, "", 1))
		}
		return locations
	}
	for name, test := range map[string]struct {
		frames []string
		want   tally
	}{
		"exit":         {[]string{"unmap_vmas", "exit_mmap", "do_exit", "do_group_exit"}, tally{InExit: 3}},
		"exec":         {[]string{"exec_mmap", "begin_new_exec", "load_elf_binary"}, tally{InExec: 3}},
		"after exec":   {[]string{"elf_load", "load_elf_binary.constprop.0"}, tally{InExec: 3}},
		"early exec":   {[]string{"copy_strings", "do_execveat_common", "__x64_sys_execve"}, tally{Incomplete: 3}},
		"do_exit_else": {[]string{"do_exit_else"}, tally{Incomplete: 3}},
	} {
		b := newBuilder()
		user := b.profile("/nowhere/prog")
		b.sample(user, []uint64{1}, kernel(b, test.frames...)...)
		syscall := b.location("native", "", "/nowhere/libc.so.6", 7)
		b.sample(user, []uint64{1}, append(kernel(b, test.frames...), syscall)...)
		abort := b.location("abort-marker", "[no unwind information]", "", 0)
		b.sample(user, []uint64{1}, append(kernel(b, test.frames...), syscall, abort)...)
		s, err := summarize([]request{b.request(t)}, newFiles(nil), always)
		if err != nil {
			t.Fatal(err)
		}
		got := tally{Incomplete: s.All.Incomplete, InExec: s.All.InExec, InExit: s.All.InExit}
		if got != test.want || s.All.Complete != 0 {
			t.Errorf("%s: %+v, want %+v", name, s.All, test.want)
		}
	}
}

// A user function of that name excuses nothing.
func TestOnlyTheKernelGivesUpAnAddressSpace(t *testing.T) {
	b := newBuilder()
	b.sample(b.profile("/nowhere/prog"), []uint64{1}, b.location("native", "do_exit", "/nowhere/prog", 1))
	s, err := summarize([]request{b.request(t)}, newFiles(nil), always)
	if err != nil || s.All.Incomplete != 1 || s.All.InExit != 0 {
		t.Errorf("%+v, error %v", s.All, err)
	}
}

// A process that a signal ends, whose executable the profiler could no longer read.
func TestAnExitIsExcusedWithoutAnExecutable(t *testing.T) {
	b := newBuilder()
	task := b.profile("")
	b.sample(task, []uint64{1}, b.location("kernel", "do_exit", "", 1),
		b.location("kernel", "asm_sysvec_apic_timer_interrupt", "", 2))
	b.sample(task, []uint64{1}, b.location("kernel", "do_exit", "", 1),
		b.location("kernel", "ret_from_fork_asm", "", 3))
	s, err := summarize([]request{b.request(t)}, newFiles(nil), always)
	if err != nil || s.All.InExit != 1 || s.All.Complete != 1 || s.All.Incomplete != 0 {
		t.Errorf("%+v, error %v", s.All, err)
	}
}

func TestNamesOfAllKindsOfMachineCodeCountAndAbortMarkersDoNot(t *testing.T) {
	b := newBuilder()
	b.sample(b.profile("/nowhere/prog"), []uint64{1, 2},
		b.location("kernel", "f", "", 1),
		b.location("native", "", "/nowhere/prog", 2),
		b.location("native", "f", "/nowhere/prog", 3),
		b.location("go", "main.f", "/nowhere/prog", 4),
		b.location("go", "", "/nowhere/prog", 5),
		b.location("rust", "f", "/nowhere/prog", 6),
		b.location("cpython", "f", "", 0),
		b.location("abort-marker", "[broken]", "", 0))
	s, err := summarize([]request{b.request(t)}, newFiles(nil), always)
	if err != nil {
		t.Fatal(err)
	}
	if s.All.Frames != 14 || s.All.Native != 10 || s.All.NativeNamed != 6 || s.MeanDepth != 7 {
		t.Errorf("%+v, depth %v", s.All, s.MeanDepth)
	}
	if got := *s.FrameTypes["abort-marker"]; got != (typeTally{2, 2}) {
		t.Errorf("abort markers: %+v", got)
	}
}

func TestTheWindowLimitsWhatIsCounted(t *testing.T) {
	b := newBuilder()
	b.sample(b.profile("/bin/a"), []uint64{10, 20, 30}, b.location("native", "f", "", 1))
	one := b.request(t)
	s, err := summarize([]request{one}, newFiles(nil), window{20, 30})
	if err != nil || s.All.Observations != 1 || s.FirstUnixNano != 20 || s.Wire.Observations != 3 {
		t.Errorf("%+v %v", s, err)
	}
	s, _ = summarize([]request{one}, newFiles(nil), window{40, 50})
	if s.All.Observations != 0 || s.Wire.RawBytes != 0 {
		t.Errorf("%+v", s)
	}
}
