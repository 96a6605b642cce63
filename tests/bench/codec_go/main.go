// SPDX-License-Identifier: Apache-2.0

// Command otlp_codec_go measures how long the Collector's pdata takes to decode and to encode the
// requests of each file, raw or each behind its length in 4 bytes, big-endian. It prints what
// otlp_codec prints for profcol.
package main

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

type figures struct {
	Codec        string `json:"codec"`
	File         string `json:"file"`
	Requests     int    `json:"requests"`
	Samples      int    `json:"samples"`
	Observations int    `json:"observations"`
	BytesRead    int    `json:"bytes_read"`
	BytesWritten int    `json:"bytes_written"`
	DecodeNs     int64  `json:"decode_ns"`
	EncodeNs     int64  `json:"encode_ns"`
}

func main() {
	seconds := flag.Float64("seconds", 2, "how long to measure each file")
	flag.Parse()
	var all []figures
	for _, path := range flag.Args() {
		one, err := measure(path, time.Duration(*seconds*float64(time.Second)))
		if err != nil {
			fmt.Fprintf(os.Stderr, "otlp_codec_go: %s: %v\n", path, err)
			os.Exit(1)
		}
		all = append(all, one)
	}
	text, err := json.Marshal(all)
	if err != nil {
		fmt.Fprintln(os.Stderr, "otlp_codec_go:", err)
		os.Exit(1)
	}
	fmt.Println(string(text))
}

// requests cuts a file into frames, if they fill it to its last byte; else it is one request.
func requests(file []byte) [][]byte {
	var frames [][]byte
	rest := file
	for len(rest) >= 4 {
		length := int(binary.BigEndian.Uint32(rest))
		if length > len(rest)-4 {
			break
		}
		frames = append(frames, rest[4:4+length])
		rest = rest[4+length:]
	}
	if len(rest) == 0 && len(frames) > 0 {
		return frames
	}
	return [][]byte{file}
}

func measure(path string, limit time.Duration) (figures, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return figures{}, err
	}
	raw := requests(file)
	result := figures{Codec: "pdata", File: path, Requests: len(raw)}
	for end := time.Now().Add(limit); ; {
		begin := time.Now()
		decoded, err := decode(raw)
		if err != nil {
			return figures{}, err
		}
		keepLeast(&result.DecodeNs, time.Since(begin))
		if result.Samples == 0 {
			count(decoded, &result)
		}
		begin = time.Now()
		result.BytesWritten, err = encode(decoded)
		if err != nil {
			return figures{}, err
		}
		keepLeast(&result.EncodeNs, time.Since(begin))
		if time.Now().After(end) {
			break
		}
	}
	for _, bytes := range raw {
		result.BytesRead += len(bytes)
	}
	return result, nil
}

func decode(raw [][]byte) ([]pprofile.Profiles, error) {
	unmarshaler := pprofile.ProtoUnmarshaler{}
	decoded := make([]pprofile.Profiles, 0, len(raw))
	for _, bytes := range raw {
		profiles, err := unmarshaler.UnmarshalProfiles(bytes)
		if err != nil {
			return nil, err
		}
		decoded = append(decoded, profiles)
	}
	return decoded, nil
}

func encode(decoded []pprofile.Profiles) (int, error) {
	marshaler := pprofile.ProtoMarshaler{}
	total := 0
	for _, profiles := range decoded {
		bytes, err := marshaler.MarshalProfiles(profiles)
		if err != nil {
			return 0, err
		}
		total += len(bytes)
	}
	return total, nil
}

func keepLeast(least *int64, span time.Duration) {
	if *least == 0 || span.Nanoseconds() < *least {
		*least = span.Nanoseconds()
	}
}

func count(decoded []pprofile.Profiles, result *figures) {
	for _, profiles := range decoded {
		for _, resource := range profiles.ResourceProfiles().All() {
			for _, scope := range resource.ScopeProfiles().All() {
				for _, profile := range scope.Profiles().All() {
					for _, sample := range profile.Samples().All() {
						result.Samples++
						result.Observations += max(1, sample.TimestampsUnixNano().Len())
					}
				}
			}
		}
	}
}
