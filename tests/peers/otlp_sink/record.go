// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// What is known of one request, in the end a line of the log.
type record struct {
	mutex  sync.Mutex // gRPC's events come from several goroutines
	logged bool
	answer answer
	raw    []byte // uncompressed

	TimeUnixNano int64               `json:"time_unix_nano"` // of arrival
	Transport    string              `json:"transport"`      // grpc or http
	Encoding     string              `json:"encoding"`       // proto or json
	Compression  string              `json:"compression"`    // empty: none
	RawBytes     int                 `json:"raw_bytes"`
	WireBytes    int                 `json:"wire_bytes"` // of the body as it came
	Profiles     int                 `json:"profiles"`
	Samples      int                 `json:"samples"`
	Observations int                 `json:"observations"`
	Events       int64               `json:"events"` // of values that count, what they count
	First        uint64              `json:"first_unix_nano"` // of the observations; 0: none
	Last         uint64              `json:"last_unix_nano"`
	Answer       string              `json:"answer"` // as in the script, or what refused it
	Message      string              `json:"message,omitempty"`
	UserAgent    string              `json:"user_agent"`
	Peer         string              `json:"peer"`
	Metadata     map[string][]string `json:"metadata"`
}

func newRecord(transport string, answer answer) *record {
	return &record{TimeUnixNano: time.Now().UnixNano(), Transport: transport, Encoding: "proto",
		answer: answer, Answer: answer.text}
}

// observe counts what was at this time.
func (r *record) observe(count int, when uint64) {
	if count == 0 {
		return
	}
	if r.Observations == 0 || when < r.First {
		r.First = when
	}
	r.Observations += count
	r.Last = max(r.Last, when)
}

// events is how often something was observed, in a sample of this unit.
func events(sample pprofile.Sample, unit string) int64 {
	values, times := sample.Values(), sample.TimestampsUnixNano()
	if times.Len() > 0 || unit != "count" {
		return int64(max(values.Len(), times.Len()))
	}
	var sum int64
	for _, value := range values.All() {
		sum += max(value, 0)
	}
	return sum
}

// unitOf is the unit of a profile's values; "" where it refers to nothing.
func unitOf(profiles pprofile.Profiles, profile pprofile.Profile) string {
	strings, index := profiles.Dictionary().StringTable(), profile.SampleType().UnitStrindex()
	if index < 0 || int(index) >= strings.Len() {
		return ""
	}
	return strings.At(int(index))
}

func (r *record) count(profiles pprofile.Profiles) {
	for _, resource := range profiles.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				r.Profiles++
				unit := unitOf(profiles, profile)
				for _, sample := range profile.Samples().All() {
					r.Samples++
					r.Events += events(sample, unit)
					times := sample.TimestampsUnixNano()
					for _, when := range times.All() {
						r.observe(1, when)
					}
					// Values without a time of their own have that of the profile.
					r.observe(max(sample.Values().Len()-times.Len(), 0), uint64(profile.Time()))
				}
			}
		}
	}
}

// The files that all requests go to.
type output struct {
	mutex sync.Mutex
	out   io.WriteCloser // of the accepted requests; nil: nowhere
	log   io.WriteCloser
}

func openOutput(out, log string) (*output, error) {
	var result output
	var err error
	if out != "" {
		if result.out, err = os.OpenFile(out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
			return nil, err
		}
	}
	if log != "" {
		if result.log, err = os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
			return nil, err
		}
	}
	return &result, nil
}

func (o *output) Close() {
	for _, file := range []io.WriteCloser{o.out, o.log} {
		if file != nil {
			file.Close()
		}
	}
}

// keep appends an accepted request, framed as the Collector's file exporter frames.
func (o *output) keep(raw []byte) error {
	if o.out == nil {
		return nil
	}
	frame := make([]byte, 4, 4+len(raw))
	binary.BigEndian.PutUint32(frame, uint32(len(raw)))
	o.mutex.Lock()
	defer o.mutex.Unlock()
	_, err := o.out.Write(append(frame, raw...))
	return err
}

// note writes the line of a request, once.
func (o *output) note(r *record) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if o.log == nil || r.logged {
		return nil
	}
	r.logged = true
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	_, err = o.log.Write(append(line, '\n'))
	return err
}
