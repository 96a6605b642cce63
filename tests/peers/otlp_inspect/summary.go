// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Observations and their frames, of one program or of all. Everything is counted once for each
// observation.
type tally struct {
	Observations int `json:"observations"`
	Complete     int `json:"complete"`
	Incomplete   int `json:"incomplete"`
	// Neither: the process was giving up its user stack at that moment.
	InExec int `json:"in_exec"`
	InExit int `json:"in_exit"`
	// Of complete and incomplete ones those whose process, mappings and pages had been seen
	// settlingNs before.
	SettledComplete   int `json:"settled_complete"`
	SettledIncomplete int `json:"settled_incomplete"`
	// complete / (complete + incomplete)
	CompleteShare float64 `json:"complete_share"`
	// Incomplete ones whose last frame lies in a file that could not be looked into.
	FileMissing int `json:"file_missing"`
	Frames      int `json:"frames"` // without remarks of the profiler
	// Of all kinds of machine code: profilers differ in which they tell apart.
	Native      int `json:"native_frames"`
	NativeNamed int `json:"native_frames_named"`
	// Of these the ones for whose address the file itself has a function's name.
	Nameable      int `json:"nameable_frames"`
	NameableNamed int `json:"nameable_frames_named"`
}

type wireTally struct {
	Requests     int `json:"requests"`
	RawBytes     int `json:"raw_bytes"`
	GzipBytes    int `json:"gzip_bytes"`
	Observations int `json:"observations"`
}

type typeTally struct {
	Frames int `json:"frames"`
	Named  int `json:"named"`
}

type valueTally struct {
	Observations int   `json:"observations"`
	Sum          int64 `json:"sum"`
}

// Incomplete stacks that end alike.
type cut struct {
	Program string `json:"program"`
	Through string `json:"through"`
	Reason  string `json:"reason"` // the last frame
}

type cutTally struct {
	cut
	Observations int `json:"observations"`
	Settled      int `json:"settled"`
}

type summary struct {
	Requests  int            `json:"requests"`
	CutBytes  int            `json:"cut_bytes"` // of a last frame that is not all there
	Resources int            `json:"resources"`
	Scopes    int            `json:"scopes"`
	Profiles  int            `json:"profiles"`
	Samples   int            `json:"samples"`
	Tables    map[string]int `json:"dictionary"` // sums over the requests

	// The requests that hold an observation of the window, whole.
	Wire wireTally `json:"wire"`

	// Observations of the window from here on.
	All      tally             `json:"all"`
	Programs map[string]*tally `json:"programs"`
	Through  map[string]*tally `json:"through"` // a language runtime, or nativeOnly
	// By program, of the stacks that lead through no runtime.
	NativePrograms map[string]*tally      `json:"native_programs"`
	KernelThreads  tally                  `json:"kernel_threads"`
	MeanDepth      float64                `json:"mean_depth"`
	FrameTypes     map[string]*typeTally  `json:"frame_types"`
	Values         map[string]*valueTally `json:"values"` // by sample type
	FirstUnixNano  uint64                 `json:"first_unix_nano"`
	LastUnixNano   uint64                 `json:"last_unix_nano"`
	Cuts           []*cutTally            `json:"cuts"`

	cuts map[cut]*cutTally
}

// How many kinds of incomplete stacks are listed.
const cutLimit = 100

// The time that counts, [from, to) in Unix nanoseconds.
type window struct {
	from, to uint64
}

func (w window) holds(time uint64) bool {
	return time >= w.from && time < w.to
}

// observed is what the observations of a sample that lie in the window are worth.
func (w window) observed(profile pprofile.Profile, sample pprofile.Sample) (count int, sum int64, first, last uint64) {
	values, times := sample.Values(), sample.TimestampsUnixNano()
	for i := range max(values.Len(), times.Len()) {
		value, when := int64(1), uint64(profile.Time())
		if i < values.Len() {
			value = values.At(i)
		}
		if i < times.Len() {
			when = times.At(i)
		}
		if !w.holds(when) {
			continue
		}
		if count == 0 || when < first {
			first = when
		}
		count, sum, last = count+1, sum+value, max(last, when)
	}
	return count, sum, first, last
}

func gzipSize(raw []byte) int {
	var out bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&out, 6)
	writer.Write(raw)
	writer.Close()
	return out.Len()
}

// programOf is what a resource is listed as.
func programOf(at place, sample pprofile.Sample) string {
	attributes := at.resource.Resource().Attributes()
	for _, key := range []string{"process.executable.name", "process.executable.path", "process.command"} {
		if value, found := attributes.Get(key); found && value.AsString() != "" {
			return filepath.Base(value.AsString())
		}
	}
	if name := at.dictionary.attributeText(sample.AttributeIndices(), "thread.name"); name != "" {
		return name
	}
	return "unknown"
}

// isKernelTask says whether a sample is one of a kernel thread: it has no executable and nothing
// but kernel frames, which do not lead to a system call.
func isKernelTask(judge *judge, at place, sample pprofile.Sample) bool {
	attributes := at.resource.Resource().Attributes()
	for _, key := range []string{"process.executable.path", "process.executable.name"} {
		if value, found := attributes.Get(key); found && value.AsString() != "" {
			return false
		}
	}
	for _, index := range at.dictionary.stack(sample.StackIndex()).LocationIndices().All() {
		frame := judge.kindAndName(index)
		if frame.kind != kernelType || isSystemCall(frame.name) {
			return false
		}
	}
	return true
}

func (t *tally) add(count, settled int, judged stackVerdict) {
	t.Observations += count
	switch judged.verdict {
	case complete, kernelThread:
		t.Complete += count
		t.SettledComplete += settled
	case incomplete, kernelThreadOpen:
		t.Incomplete += count
		t.SettledIncomplete += settled
	case inExec:
		t.InExec += count
	case inExit:
		t.InExit += count
	}
	if judged.missing {
		t.FileMissing += count
	}
}

func (t *tally) addFrame(frame frame, nameable bool, count int) {
	t.Frames += count
	if !nativeTypes[frame.kind] {
		return
	}
	t.Native += count
	if nameable {
		t.Nameable += count
	}
	if frame.name == "" {
		return
	}
	t.NativeNamed += count
	if nameable {
		t.NameableNamed += count
	}
}

func (t *tally) finish() {
	if total := t.Complete + t.Incomplete; total > 0 {
		t.CompleteShare = float64(t.Complete) / float64(total)
	}
}

func entry[Key comparable, Value any](table map[Key]*Value, key Key) *Value {
	value := table[key]
	if value == nil {
		value = new(Value)
		table[key] = value
	}
	return value
}

func (s *summary) addTables(requests []request) {
	for _, one := range requests {
		d := one.profiles.Dictionary()
		s.Tables["strings"] += d.StringTable().Len()
		s.Tables["functions"] += d.FunctionTable().Len()
		s.Tables["locations"] += d.LocationTable().Len()
		s.Tables["mappings"] += d.MappingTable().Len()
		s.Tables["stacks"] += d.StackTable().Len()
		s.Tables["attributes"] += d.AttributeTable().Len()
		s.Tables["links"] += d.LinkTable().Len()
		for _, resource := range one.profiles.ResourceProfiles().All() {
			s.Resources++
			for _, scope := range resource.ScopeProfiles().All() {
				s.Scopes++
				s.Profiles += scope.Profiles().Len()
			}
		}
	}
}

func (s *summary) addFrames(judge *judge, sample pprofile.Sample, count int, tallies []*tally) {
	for _, index := range judge.dictionary.stack(sample.StackIndex()).LocationIndices().All() {
		frame := judge.kindAndName(index)
		kind := entry(s.FrameTypes, frame.kind)
		kind.Frames += count
		if frame.name != "" {
			kind.Named += count
		}
		if frame.kind == abortType {
			continue
		}
		nameable := nativeTypes[frame.kind] && judge.nameable(index)
		for _, one := range tallies {
			one.addFrame(frame, nameable, count)
		}
	}
}

func (s *summary) addSample(judge *judge, seen *lessonsOf, at place, sample pprofile.Sample, window window) {
	count, sum, first, last := window.observed(at.profile, sample)
	if count == 0 {
		return
	}
	s.Samples++
	value := entry(s.Values, at.dictionary.text(at.profile.SampleType().TypeStrindex())+"/"+
		at.dictionary.text(at.profile.SampleType().UnitStrindex()))
	value.Observations += count
	value.Sum += sum
	if s.FirstUnixNano == 0 || first < s.FirstUnixNano {
		s.FirstUnixNano = first
	}
	s.LastUnixNano = max(s.LastUnixNano, last)

	kernel := isKernelTask(judge, at, sample)
	judged := judge.stack(sample.StackIndex(), kernel)
	settled := seen.settled(at, sample, window)
	tallies := []*tally{&s.All, &s.KernelThreads}
	this := cut{Reason: judged.reason}
	if !kernel {
		this.Program, this.Through = programOf(at, sample), judge.runtimeOf(at, sample)
		tallies = []*tally{&s.All, entry(s.Programs, this.Program), entry(s.Through, this.Through)}
		if this.Through == nativeOnly {
			tallies = append(tallies, entry(s.NativePrograms, this.Program))
		}
	}
	for _, one := range tallies {
		one.add(count, settled, judged)
	}
	if judged.reason != "" {
		tally := entry(s.cuts, this)
		tally.cut = this
		tally.Observations += count
		tally.Settled += settled
	}
	s.addFrames(judge, sample, count, tallies)
}

func (s *summary) finish() {
	s.All.finish()
	s.KernelThreads.finish()
	for _, table := range []map[string]*tally{s.Programs, s.Through, s.NativePrograms} {
		for _, one := range table {
			one.finish()
		}
	}
	if s.All.Observations > 0 {
		s.MeanDepth = float64(s.All.Frames) / float64(s.All.Observations)
	}
	s.Cuts = slices.SortedFunc(maps.Values(s.cuts), func(a, b *cutTally) int {
		return cmp.Or(cmp.Compare(b.Settled, a.Settled), cmp.Compare(b.Observations, a.Observations),
			cmp.Compare(a.Program, b.Program), cmp.Compare(a.Through, b.Through),
			cmp.Compare(a.Reason, b.Reason))
	})
	s.Cuts = s.Cuts[:min(len(s.Cuts), cutLimit)]
}

// summarize counts what the requests hold within the window.
func summarize(requests []request, files *files, window window) (*summary, error) {
	s := &summary{Requests: len(requests), Tables: map[string]int{}, Programs: map[string]*tally{},
		FrameTypes: map[string]*typeTally{}, Values: map[string]*valueTally{},
		Through: map[string]*tally{}, NativePrograms: map[string]*tally{}, cuts: map[cut]*cutTally{}}
	s.addTables(requests)
	all := newSightings()
	files.addExecutables(requests)
	seen := make([]*lessonsOf, len(requests))
	for i := range requests {
		seen[i] = newLessonsOf(all, dictionary{requests[i].profiles.Dictionary()})
		if err := eachSample(requests, i, seen[i].see); err != nil {
			return nil, err
		}
	}
	for i := range requests {
		before := s.All.Observations
		judge := newJudge(files, dictionary{requests[i].profiles.Dictionary()})
		err := eachSample(requests, i, func(at place, sample pprofile.Sample) {
			s.addSample(judge, seen[i], at, sample, window)
		})
		if err != nil {
			return nil, err
		}
		if s.All.Observations > before {
			s.Wire.Requests++
			s.Wire.RawBytes += len(requests[i].raw)
			s.Wire.GzipBytes += gzipSize(requests[i].raw)
			s.Wire.Observations += countAll(requests[i])
		}
	}
	s.finish()
	return s, nil
}

// countAll is the number of observations of a request, whenever they were.
func countAll(one request) (count int) {
	for _, resource := range one.profiles.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				for _, sample := range profile.Samples().All() {
					count += max(sample.Values().Len(), sample.TimestampsUnixNano().Len())
				}
			}
		}
	}
	return count
}

func printSummary(out io.Writer, s *summary) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "\t")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(s)
}
