// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
)

const second = 1_000_000_000

// settledOf is how many observations of all were settled, complete and not.
func settledOf(t *testing.T, window window, requests ...request) (complete, incomplete int) {
	t.Helper()
	s, err := summarize(requests, newFiles(nil), window)
	if err != nil {
		t.Fatal(err)
	}
	return s.All.SettledComplete, s.All.SettledIncomplete
}

func TestAStackIsSettledWhenAllOfItWasSeenTwoSecondsBefore(t *testing.T) {
	for name, test := range map[string]struct {
		before, now string // the file of a frame
		page        uint64 // that frame's address
		want        int
	}{
		"the same":        {"/lib/x", "/lib/x", 0x1ffff, 1},
		"another page":    {"/lib/x", "/lib/x", 0x20000, 0},
		"another file":    {"/lib/x", "/lib/y", 0x1ffff, 0},
		"no file":         {"", "", 0x10001, 1},
		"no file, a page": {"", "", 0x20001, 0},
	} {
		b := newBuilder()
		program := b.profile("/bin/a")
		start := b.location("native", "_start", "/bin/a", 1)
		b.sample(program, []uint64{10 * second}, b.location("native", "f", test.before, 0x10000), start)
		b.sample(program, []uint64{12 * second}, b.location("native", "g", test.now, test.page), start)
		complete, incomplete := settledOf(t, always, b.request(t))
		if complete != test.want || incomplete != 0 {
			t.Errorf("%s: %d and %d", name, complete, incomplete)
		}
	}
}

func TestWhatIsSettledIsDecidedObservationByObservation(t *testing.T) {
	b := newBuilder()
	// The order within and among samples does not matter.
	times := []uint64{15 * second, 12 * second, 10 * second, 12*second - 1}
	b.sample(b.profile("/bin/a"), times, b.location("native", "f", "/bin/a", 1))
	if complete, incomplete := settledOf(t, always, b.request(t)); complete != 0 || incomplete != 2 {
		t.Errorf("%d and %d", complete, incomplete)
	}
	// What was seen before the window counts as seen.
	window := window{13 * second, 20 * second}
	if complete, incomplete := settledOf(t, window, b.request(t)); complete != 0 || incomplete != 1 {
		t.Errorf("in the window: %d and %d", complete, incomplete)
	}
}

func TestEachProcessHasToSettle(t *testing.T) {
	b := newBuilder()
	frame := b.location("native", "_start", "/bin/a", 1)
	for index, when := range []uint64{10 * second, 13 * second} {
		b.profile("/bin/a")
		resource := b.ResourceProfiles().At(index)
		resource.Resource().Attributes().PutInt("process.pid", int64(index+1))
		b.sample(resource.ScopeProfiles().At(0).Profiles().At(0), []uint64{when}, frame)
	}
	if complete, incomplete := settledOf(t, always, b.request(t)); complete+incomplete != 0 {
		t.Errorf("%d and %d", complete, incomplete)
	}
}

func TestRequestsAreSeenTogether(t *testing.T) {
	var requests []request
	for _, when := range []uint64{10 * second, 13 * second} {
		b := newBuilder()
		b.sample(b.profile("/bin/a"), []uint64{when}, b.location("native", "_start", "/bin/a", 1))
		requests = append(requests, b.request(t))
	}
	if complete, incomplete := settledOf(t, always, requests...); complete != 1 || incomplete != 0 {
		t.Errorf("%d and %d", complete, incomplete)
	}
}

func TestWithoutTimesNothingIsSettled(t *testing.T) {
	b := newBuilder()
	profile := b.profile("/bin/a")
	profile.SetTime(20 * second)
	b.sample(profile, []uint64{10 * second}, b.location("native", "_start", "/bin/a", 1))
	b.sample(profile, nil, b.location("native", "_start", "/bin/a", 1)).Values().Append(1)
	if complete, incomplete := settledOf(t, always, b.request(t)); complete+incomplete != 0 {
		t.Errorf("%d and %d", complete, incomplete)
	}
}

func TestStacksThroughRuntimesAreCountedApart(t *testing.T) {
	b := newBuilder()
	node, java, python := b.profile("/bin/node"), b.profile("/bin/java"), b.profile("/bin/python3")
	start := b.location("native", "_start", "/bin/x", 1)
	times := []uint64{1, 2}
	b.sample(node, times, start)
	b.sample(node, times, b.location("native", "Builtins_ArrayMap", "/bin/node", 2), start)
	b.sample(node, times, b.location("native", "", "", 3), start)
	b.sample(java, times, b.location("native", "", "", 3), start)
	b.sample(java, times, b.location("jvm", "f", "", 0), start)
	b.sample(python, times, b.location("cpython", "f", "", 0), start)
	b.sample(python, times, b.location("native", "_PyEval_EvalFrameDefault", "/bin/python3", 4))
	b.sample(python, times, b.location("native", "", "", 3), start)
	s, err := summarize([]request{b.request(t)}, newFiles(nil), always)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"V8": 4, "HotSpot": 4, "CPython": 4, someJIT: 2, nativeOnly: 2} {
		if got := s.Through[name]; got == nil || got.Observations != want {
			t.Errorf("%s: %+v, want %d", name, got, want)
		}
	}
}

func TestCutsSayOfWhichProgramAndWhere(t *testing.T) {
	b := newBuilder()
	abort := b.location("abort-marker", "[broken]", "", 0)
	b.sample(b.profile("/bin/a"), []uint64{1, 2}, b.location("native", "f", "/bin/a", 1), abort)
	late := b.location("native", "g", "/bin/b", 1)
	b.sample(b.profile("/bin/b"), []uint64{1 * second, 3 * second}, late, abort)
	s, err := summarize([]request{b.request(t)}, newFiles(nil), always)
	if err != nil {
		t.Fatal(err)
	}
	const reason = "abort-marker [broken]"
	want := []cutTally{{cut{"b", nativeOnly, reason}, 2, 1}, {cut{"a", nativeOnly, reason}, 2, 0}}
	if len(s.Cuts) != 2 || *s.Cuts[0] != want[0] || *s.Cuts[1] != want[1] {
		t.Errorf("%+v", s.Cuts)
	}
}
