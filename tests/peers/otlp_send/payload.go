// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"os"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// A request as it goes over the wire, with what is in it.
type payload struct {
	message                         []byte // behind gRPC's prefix of 5 bytes
	rawBytes                        int
	profiles, samples, observations int
}

// readPayloads reads files of requests: raw, or each behind its length in 4 bytes. Requests
// without samples are left out: a gateway answers them without passing them on.
func readPayloads(paths []string, compress bool) ([]payload, error) {
	var found []payload
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, raw := range requests(file) {
			one, err := newPayload(raw, compress)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if one.samples > 0 {
				found = append(found, one)
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no samples in %v", paths)
	}
	return found, nil
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

func newPayload(raw []byte, compress bool) (payload, error) {
	unmarshaler := pprofile.ProtoUnmarshaler{}
	decoded, err := unmarshaler.UnmarshalProfiles(raw)
	if err != nil {
		return payload{}, err
	}
	result := payload{rawBytes: len(raw)}
	for _, resource := range decoded.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				result.profiles++
				for _, sample := range profile.Samples().All() {
					result.samples++
					result.observations += max(sample.TimestampsUnixNano().Len(),
						sample.Values().Len())
				}
			}
		}
	}
	body := raw
	if compress {
		var compressed bytes.Buffer
		writer := gzip.NewWriter(&compressed)
		if _, err := writer.Write(raw); err != nil {
			return payload{}, err
		}
		if err := writer.Close(); err != nil {
			return payload{}, err
		}
		body = compressed.Bytes()
	}
	prefix := make([]byte, 5, 5+len(body))
	if compress {
		prefix[0] = 1
	}
	binary.BigEndian.PutUint32(prefix[1:], uint32(len(body)))
	result.message = append(prefix, body...)
	return result, nil
}
