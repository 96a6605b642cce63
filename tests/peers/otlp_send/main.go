// SPDX-License-Identifier: Apache-2.0

// send is many OTLP clients at once: each has a connection of its own and sends the requests of
// the files in turn, over and over, the next one when the last one was accepted. Together they
// keep no more than a window of samples between themselves and the sink behind the gateway, whose
// log tells what has arrived.
//
// It prints a JSON object once every accepted sample has arrived, and fails if that does not
// happen.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

type settings struct {
	to, log string
	gzip    bool
	clients int
	window  int
	length  time.Duration
	once    bool
	// Without any arrival, or with refusals only, for so long the run has failed.
	patience time.Duration
}

// What a run did, from the first request to the last arrival.
type figures struct {
	Seconds      float64 `json:"seconds"`
	Requests     int64   `json:"requests"` // accepted
	Refused      int64   `json:"refused"`  // to be tried again, and they were
	Profiles     int64   `json:"profiles"`
	Samples      int64   `json:"samples"`
	Observations int64   `json:"observations"`
	RawBytes     int64   `json:"raw_bytes"`
	WireBytes    int64   `json:"wire_bytes"`
	Arrived      arrived `json:"arrived"`
}

func parseFlags() settings {
	var s settings
	flag.StringVar(&s.to, "to", "", "HOST:PORT of the gateway, without TLS")
	flag.StringVar(&s.log, "sink-log", "", "the log of the sink that the gateway sends to")
	flag.BoolVar(&s.gzip, "gzip", false, "compress requests, once and for all, before the start")
	flag.IntVar(&s.clients, "clients", 8, "connections, each with one request at a time")
	flag.IntVar(&s.window, "window", 64, "requests of average size between here and the sink")
	flag.DurationVar(&s.length, "for", 10*time.Second, "how long to send")
	flag.BoolVar(&s.once, "once", false, "send each request once instead, however long it takes")
	flag.DurationVar(&s.patience, "patience", 30*time.Second,
		"fail when nothing has arrived for so long")
	flag.Parse()
	return s
}

func main() {
	s := parseFlags()
	if s.to == "" || s.log == "" || s.clients < 1 || s.window < 1 || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "send: give --to, --sink-log, files, and positive numbers; see --help")
		os.Exit(2)
	}
	result, err := run(s, flag.Args())
	if err != nil {
		fmt.Fprintf(os.Stderr, "send: %v\n", err)
		os.Exit(1)
	}
	text, err := json.Marshal(result)
	if err != nil {
		fmt.Fprintf(os.Stderr, "send: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(string(text))
}
