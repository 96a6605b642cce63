// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"testing"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

func profileOf(b *builder, executable string, pid int64) pprofile.Profile {
	profile := b.profile(executable)
	resource := b.ResourceProfiles().At(b.ResourceProfiles().Len() - 1)
	resource.Resource().Attributes().PutInt("process.pid", pid)
	return profile
}

func TestEachProcessTellsItsFirstStackAndItsFirstCompleteOne(t *testing.T) {
	b := newBuilder()
	start := b.location("native", "_start", "/nowhere/a", 1)
	cut := b.location("native", "f", "/nowhere/a", 2)
	a := profileOf(b, "/nowhere/a", 7)
	// The order within and among samples does not matter.
	b.sample(a, []uint64{50, 40}, start)
	b.sample(a, []uint64{30, 20, 60}, cut)
	b.sample(profileOf(b, "/nowhere/b", 8), []uint64{25}, cut)
	// A kernel thread, and samples of nobody.
	b.sample(profileOf(b, "", 9), []uint64{1}, b.location("kernel", "ret_from_fork", "", 3))
	b.sample(b.profile("/nowhere/c"), []uint64{1}, start)
	// A later request has more of the first one.
	later := newBuilder()
	again := later.location("native", "_start", "/nowhere/a", 1)
	later.sample(profileOf(later, "/nowhere/a", 7), []uint64{35, 99}, again)

	requests := []request{b.request(t), later.request(t)}
	found, err := listProcesses(requests, newFiles(nil), window{20, 99})
	if err != nil || len(found) != 2 {
		t.Fatalf("%d processes, error %v", len(found), err)
	}
	if got, want := *found[0], (processTally{"7", "a", 6, 3, 20, 35}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := *found[1], (processTally{"8", "b", 1, 0, 25, 0}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestNoProcessIsAnEmptyList(t *testing.T) {
	found, err := listProcesses(nil, newFiles(nil), always)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printProcesses(&out, found); err != nil || out.String() != "[]\n" {
		t.Errorf("%q, error %v", out.String(), err)
	}
}
