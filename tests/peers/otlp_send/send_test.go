// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// encode is a request with so many samples of two observations.
func encode(t *testing.T, samples int) []byte {
	t.Helper()
	profiles := pprofile.NewProfiles()
	profile := profiles.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().
		Profiles().AppendEmpty()
	for range samples {
		profile.Samples().AppendEmpty().TimestampsUnixNano().Append(1, 2)
	}
	marshaler := pprofile.ProtoMarshaler{}
	raw, err := marshaler.MarshalProfiles(profiles)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A gateway with its sink behind it.
type gateway struct {
	mutex  sync.Mutex
	t      *testing.T
	log    string
	codes  []string // of the first answers; then 0
	lose   int      // this request, from 1 on, is accepted and never arrives
	double int      // this one arrives twice
	taken  int
}

func (g *gateway) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	body, err := io.ReadAll(request.Body)
	if err != nil || len(body) < 5 || int(binary.BigEndian.Uint32(body[1:])) != len(body)-5 {
		g.t.Errorf("broken message of %d bytes: %v", len(body), err)
	}
	message := body[5:]
	if request.Header.Get("Grpc-Encoding") == "gzip" {
		reader, err := gzip.NewReader(bytes.NewReader(message))
		if err != nil {
			g.t.Error(err)
			return
		}
		message, _ = io.ReadAll(reader)
	}
	if len(g.codes) > 0 {
		writer.Header().Set("Grpc-Status", g.codes[0])
		g.codes = g.codes[1:]
		return
	}
	g.arrive(message)
	writer.Header().Set("Trailer", "Grpc-Status")
	writer.Write(make([]byte, 5))
	writer.Header().Set("Grpc-Status", statusOK)
}

func (g *gateway) arrive(message []byte) {
	one, err := newPayload(message, false)
	if err != nil {
		g.t.Error(err)
	}
	g.taken++
	copies := 1
	switch g.taken {
	case g.lose:
		copies = 0
	case g.double:
		copies = 2
	}
	line := fmt.Sprintf(`{"answer": "ok", "profiles": %d, "samples": %d, "observations": %d}`+"\n",
		one.profiles, one.samples, one.observations)
	file, err := os.OpenFile(g.log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		g.t.Error(err)
		return
	}
	defer file.Close()
	io.WriteString(file, strings.Repeat(line, copies))
}

// sendTo runs against this gateway with two requests of a framed file in turn.
func sendTo(t *testing.T, g *gateway, compress, once bool) (figures, error) {
	t.Helper()
	g.t, g.log = t, filepath.Join(t.TempDir(), "log")
	file := filepath.Join(t.TempDir(), "requests")
	var frames []byte
	for _, raw := range [][]byte{encode(t, 3), encode(t, 0), encode(t, 5)} {
		frames = binary.BigEndian.AppendUint32(frames, uint32(len(raw)))
		frames = append(frames, raw...)
	}
	for path, content := range map[string]string{file: string(frames), g.log: "of an earlier run\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewUnstartedServer(g)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	s := settings{to: server.Listener.Addr().String(), log: g.log, gzip: compress, clients: 3,
		window: 4, length: 200 * time.Millisecond, once: once, patience: time.Second}
	return run(s, []string{file})
}

func TestAllArrives(t *testing.T) {
	for _, compress := range []bool{false, true} {
		g := &gateway{codes: []string{statusUnavailable, statusExhausted}}
		result, err := sendTo(t, g, compress, false)
		if err != nil {
			t.Fatal(err)
		}
		if result.Requests < 2 || result.Refused != 2 || result.Requests != int64(g.taken) {
			t.Errorf("%d requests accepted, %d refused, %d taken", result.Requests,
				result.Refused, g.taken)
		}
		if result.Observations != 2*result.Samples || result.Arrived.Samples != result.Samples ||
			result.Arrived.Observations != result.Observations {
			t.Errorf("sums differ: %+v", result)
		}
	}
}

func TestEachOnce(t *testing.T) {
	g := &gateway{codes: []string{statusUnavailable}}
	result, err := sendTo(t, g, false, true)
	if err != nil {
		t.Fatal(err)
	}
	if result.Requests != 2 || g.taken != 2 || result.Arrived.Samples != 8 {
		t.Errorf("not each of two requests once: %+v", result)
	}
}

func TestFailures(t *testing.T) {
	for text, g := range map[string]*gateway{
		"have not arrived": {lose: 3},
		"that were sent":   {double: 3},
		"with code 13":     {codes: []string{"13"}},
	} {
		if _, err := sendTo(t, g, false, false); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v instead of an error with %q", err, text)
		}
	}
}
