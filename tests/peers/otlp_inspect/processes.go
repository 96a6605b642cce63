// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// What the profiles show of one process. Numbers that were used again count as one.
type processTally struct {
	PID          string `json:"pid"`
	Program      string `json:"program"`
	Observations int    `json:"observations"`
	Complete     int    `json:"complete"`
	// Of its observations, and of those with a complete stack; 0: none.
	FirstUnixNano         uint64 `json:"first_unix_nano"`
	FirstCompleteUnixNano uint64 `json:"first_complete_unix_nano"`
}

func (p *processTally) add(count int, first uint64, isComplete bool) {
	p.Observations += count
	if p.FirstUnixNano == 0 || first < p.FirstUnixNano {
		p.FirstUnixNano = first
	}
	if !isComplete {
		return
	}
	p.Complete += count
	if p.FirstCompleteUnixNano == 0 || first < p.FirstCompleteUnixNano {
		p.FirstCompleteUnixNano = first
	}
}

// listProcesses lists those with an observation in the window, the first one first; kernel threads
// and what carries no number are none.
func listProcesses(requests []request, files *files, window window) ([]*processTally, error) {
	files.addExecutables(requests)
	found := map[string]*processTally{}
	for i := range requests {
		judge := newJudge(files, dictionary{requests[i].profiles.Dictionary()})
		err := eachSample(requests, i, func(at place, sample pprofile.Sample) {
			pid := attributeOf(at, sample, "process.pid")
			count, _, first, _ := window.observed(at.profile, sample)
			if count == 0 || pid == "" || isKernelTask(judge, at, sample) {
				return
			}
			one := entry(found, pid)
			one.PID, one.Program = pid, programOf(at, sample)
			judged := judge.stack(sample.StackIndex(), false)
			one.add(count, first, judged.verdict == complete)
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *processTally) int {
		return cmp.Or(cmp.Compare(a.FirstUnixNano, b.FirstUnixNano), cmp.Compare(a.PID, b.PID))
	}), nil
}

func printProcesses(out io.Writer, processes []*processTally) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if processes == nil {
		processes = []*processTally{}
	}
	return encoder.Encode(processes)
}
