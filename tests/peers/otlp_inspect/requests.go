// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"os"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// A request as it was on the wire, and decoded.
type request struct {
	raw      []byte
	profiles pprofile.Profiles
}

// splitFrames cuts a stream of requests, each behind its length as 4 bytes, big endian. False when
// the bytes are no such stream; `rest` are the bytes of a last frame that was cut short.
func splitFrames(bytes []byte) (frames [][]byte, rest int, framed bool) {
	for len(bytes) > 0 {
		if len(bytes) < 4 {
			return frames, len(bytes), len(frames) > 0
		}
		length := int64(binary.BigEndian.Uint32(bytes))
		if length > int64(len(bytes)-4) {
			return frames, len(bytes), len(frames) > 0
		}
		frames = append(frames, bytes[4:4+length])
		bytes = bytes[4+length:]
	}
	return frames, 0, len(frames) > 0
}

// readRequests decodes a file: one request, or a stream of them. A request on its own begins with
// a tag, 0x0a or 0x12, which as a length would be more than 160 MB.
func readRequests(path string) (requests []request, cut int, err error) {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	if len(bytes) == 0 {
		return nil, 0, nil
	}
	frames, cut, framed := splitFrames(bytes)
	if !framed {
		frames, cut = [][]byte{bytes}, 0
	}
	for i, frame := range frames {
		profiles, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(frame)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: request %d of %d (%d bytes): %w", path, i+1,
				len(frames), len(frame), err)
		}
		requests = append(requests, request{frame, profiles})
	}
	return requests, cut, nil
}
