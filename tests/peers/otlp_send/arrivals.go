// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

const pollInterval = 2 * time.Millisecond

// What the sink has accepted.
type arrived struct {
	Requests     int64 `json:"requests"`
	Profiles     int64 `json:"profiles"`
	Samples      int64 `json:"samples"`
	Observations int64 `json:"observations"`
	RawBytes     int64 `json:"raw_bytes"`
	WireBytes    int64 `json:"wire_bytes"`
}

// A log of the sink that is being written, from its present end on.
type arrivals struct {
	file    *os.File
	pending []byte // a line that is not complete yet
	sum     arrived
}

func followArrivals(path string) (*arrivals, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		file.Close()
		return nil, err
	}
	return &arrivals{file: file}, nil
}

// read takes in what was written since the last time.
func (a *arrivals) read() error {
	news, err := io.ReadAll(a.file)
	if err != nil {
		return err
	}
	a.pending = append(a.pending, news...)
	for {
		line, rest, found := bytes.Cut(a.pending, []byte("\n"))
		if !found {
			return nil
		}
		if err := a.add(line); err != nil {
			return err
		}
		a.pending = rest
	}
}

func (a *arrivals) add(line []byte) error {
	var one struct {
		Answer       string `json:"answer"`
		Profiles     int64  `json:"profiles"`
		Samples      int64  `json:"samples"`
		Observations int64  `json:"observations"`
		RawBytes     int64  `json:"raw_bytes"`
		WireBytes    int64  `json:"wire_bytes"`
	}
	if err := json.Unmarshal(line, &one); err != nil {
		return fmt.Errorf("log of the sink: %w", err)
	}
	if one.Answer != "ok" {
		return fmt.Errorf("the sink answered %s to the gateway", one.Answer)
	}
	a.sum.Requests++
	a.sum.Profiles += one.Profiles
	a.sum.Samples += one.Samples
	a.sum.Observations += one.Observations
	a.sum.RawBytes += one.RawBytes
	a.sum.WireBytes += one.WireBytes
	return nil
}
