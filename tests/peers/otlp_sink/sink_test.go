// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// A sink with both servers, its client and its files.
type sink struct {
	t          *testing.T
	grpc, http string
	out, log   string
	connection *grpc.ClientConn
}

const method = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

func startSink(t *testing.T, answers, file string, maxBytes int) *sink {
	t.Helper()
	folder := t.TempDir()
	s := &sink{t: t, out: filepath.Join(folder, "out"), log: filepath.Join(folder, "log")}
	script, err := newScript(answers, file)
	if err != nil {
		t.Fatal(err)
	}
	output, err := openOutput(s.out, s.log)
	if err != nil {
		t.Fatal(err)
	}
	stopping := make(chan struct{})
	listeners := make([]net.Listener, 2)
	for i := range listeners {
		if listeners[i], err = listen("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	s.grpc, s.http = listeners[0].Addr().String(), listeners[1].Addr().String()
	grpcServer := (&grpcSink{script: script, output: output, stopping: stopping}).serve(listeners[0], nil, maxBytes)
	httpServer := (&httpSink{script, output, maxBytes, stopping}).serve(listeners[1], nil)
	s.connection, err = grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDisableRetry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.connection.Close()
		close(stopping)
		stopGRPC(grpcServer)
		stopHTTP(httpServer)
		output.Close()
	})
	return s
}

// rawCodec passes bytes through, so that a test says what is on the wire.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }
func (rawCodec) Marshal(message any) ([]byte, error) {
	return message.([]byte), nil
}
func (rawCodec) Unmarshal(data []byte, message any) error {
	*message.(*[]byte) = bytes.Clone(data)
	return nil
}

// export sends a request over gRPC; `headers` are keys and values.
func (s *sink) export(body []byte, headers ...string) (pprofileotlp.ExportResponse, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, headers...)
	var answer []byte
	err := s.connection.Invoke(ctx, method, body, &answer, grpc.ForceCodec(rawCodec{}),
		grpc.UseCompressor("gzip"))
	response := pprofileotlp.NewExportResponse()
	if err == nil {
		err = response.UnmarshalProto(answer)
	}
	return response, err
}

func (s *sink) post(body []byte, headers ...string) (int, http.Header, []byte) {
	s.t.Helper()
	request, err := http.NewRequest("POST", "http://"+s.http+"/v1development/profiles", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", protobufType)
	for i := 0; i < len(headers); i += 2 {
		request.Header[headers[i]] = append(request.Header[headers[i]], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, nil
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, answer
}

// records are the lines of the log once there are `count`.
func (s *sink) records(count int) []*record {
	s.t.Helper()
	var records []*record
	for range 200 {
		text, err := os.ReadFile(s.log)
		if err != nil {
			s.t.Fatal(err)
		}
		if bytes.Count(text, []byte("\n")) >= count {
			for line := range bytes.Lines(text) {
				var one record
				if err := json.Unmarshal(line, &one); err != nil {
					s.t.Fatal(err)
				}
				records = append(records, &one)
			}
			return records
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatalf("no %d lines in the log", count)
	return nil
}

func (s *sink) kept() []byte {
	s.t.Helper()
	bytes, err := os.ReadFile(s.out)
	if err != nil {
		s.t.Fatal(err)
	}
	return bytes
}

// requestBytes is a request of three observations, at 2, 3 and, without a time of its own, 9 ns.
func requestBytes(t *testing.T) []byte {
	t.Helper()
	profiles := pprofile.NewProfiles()
	resource := profiles.ResourceProfiles().AppendEmpty()
	resource.Resource().Attributes().PutStr("process.executable.name", strings.Repeat("name", 50))
	profile := resource.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	profile.SetTime(9)
	profile.Samples().AppendEmpty().TimestampsUnixNano().FromRaw([]uint64{3, 2})
	profile.Samples().AppendEmpty().Values().FromRaw([]int64{5})
	raw, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(profiles)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestRequestsAreKeptAsTheyCame(t *testing.T) {
	s := startSink(t, "ok", "", 4<<20)
	raw := requestBytes(t)
	if _, err := s.export(raw, pprofileotlp.DevelopmentVersionHeader, "1", "x-test", "yes"); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := s.post(raw); code != 200 {
		t.Fatalf("HTTP %d", code)
	}
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...)
	if !bytes.Equal(s.kept(), append(frame, frame...)) {
		t.Error("the file holds something else")
	}
	overGRPC, overHTTP := s.records(2)[0], s.records(2)[1]
	if overGRPC.Samples != 2 || overGRPC.Observations != 3 || overGRPC.RawBytes != len(raw) ||
		overGRPC.WireBytes >= len(raw) || overGRPC.Compression != "gzip" || overGRPC.Answer != "ok" ||
		overGRPC.Metadata["x-test"][0] != "yes" || !strings.HasPrefix(overGRPC.UserAgent, "grpc-go") {
		t.Errorf("%+v", overGRPC)
	}
	if overGRPC.Events != 3 {
		t.Errorf("%d events of values that count nothing", overGRPC.Events)
	}
	if overGRPC.First != 2 || overGRPC.Last != 9 {
		t.Errorf("from %d to %d", overGRPC.First, overGRPC.Last)
	}
	if overHTTP.Transport != "http" || overHTTP.Observations != 3 || overHTTP.WireBytes != len(raw) {
		t.Errorf("%+v", overHTTP)
	}
}

func TestValuesThatCountAreEvents(t *testing.T) {
	profiles := pprofile.NewProfiles()
	profiles.Dictionary().StringTable().Append("", "samples", "count")
	profile := profiles.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	profile.SampleType().SetTypeStrindex(1)
	profile.SampleType().SetUnitStrindex(2)
	profile.Samples().AppendEmpty().Values().FromRaw([]int64{5, -1})
	profile.Samples().AppendEmpty().Values().FromRaw([]int64{2})
	timed := profile.Samples().AppendEmpty()
	timed.TimestampsUnixNano().FromRaw([]uint64{3, 2})
	timed.Values().FromRaw([]int64{1, 1})
	var one record
	one.count(profiles)
	if one.Samples != 3 || one.Observations != 5 || one.Events != 9 {
		t.Errorf("%d samples, %d observations, %d events", one.Samples, one.Observations, one.Events)
	}
	profile.SampleType().SetUnitStrindex(99)
	one = record{}
	one.count(profiles)
	if one.Events != 5 {
		t.Errorf("%d events of an unknown unit", one.Events)
	}
}

func TestOtherVersionsAreRefusedBeforeDecoding(t *testing.T) {
	s := startSink(t, "ok", "", 4<<20)
	header := pprofileotlp.DevelopmentVersionHeader
	garbage := []byte{0xff, 0xff}
	for _, headers := range [][]string{{header, "2"}, {header, "01"}, {header, ""}, {header, "1", header, "1"}} {
		if _, err := s.export(garbage, headers...); status.Code(err) != codes.InvalidArgument ||
			!strings.Contains(err.Error(), header) {
			t.Errorf("%v: %v", headers, err)
		}
		for i := range headers {
			headers[i] = strings.Replace(headers[i], header, http.CanonicalHeaderKey(header), 1)
		}
		if code, _, body := s.post(garbage, headers...); code != 400 || !bytes.Contains(body, []byte(header)) {
			t.Errorf("%v: HTTP %d %q", headers, code, body)
		}
	}
	for _, record := range s.records(8) {
		if record.Answer != "invalid_argument" && record.Answer != "400" {
			t.Errorf("%+v", record)
		}
	}
	if len(s.kept()) > 0 {
		t.Error("something was kept")
	}
}

func TestReferencesBeyondTheTableAreRefused(t *testing.T) {
	s := startSink(t, "ok", "", 4<<20)
	// ResourceProfiles{Resource{KeyValue{key_strindex: 9}}}
	wrong := []byte{0x0a, 6, 0x0a, 4, 0x0a, 2, 0x18, 9}
	if _, err := s.export(wrong); status.Code(err) != codes.InvalidArgument {
		t.Errorf("%v", err)
	}
	if code, _, _ := s.post(wrong); code != 400 {
		t.Errorf("HTTP %d", code)
	}
	if answer := s.records(2)[0].Answer; answer != "invalid_argument" {
		t.Error(answer)
	}
}

func TestAnswersFollowTheScript(t *testing.T) {
	s := startSink(t, "unavailable*2,resource_exhausted+retry=200ms,partial=7:some,data_loss:gone,ok", "", 4<<20)
	raw := requestBytes(t)
	for range 2 {
		if _, err := s.export(raw); status.Code(err) != codes.Unavailable {
			t.Errorf("%v", err)
		}
	}
	_, err := s.export(raw)
	details := status.Convert(err).Details()
	if status.Code(err) != codes.ResourceExhausted || len(details) != 1 ||
		details[0].(*errdetails.RetryInfo).RetryDelay.AsDuration() != 200*time.Millisecond {
		t.Errorf("%v %v", err, details)
	}
	response, err := s.export(raw)
	if err != nil || response.PartialSuccess().RejectedProfiles() != 7 ||
		response.PartialSuccess().ErrorMessage() != "some" {
		t.Errorf("%v", err)
	}
	if _, err = s.export(raw); status.Code(err) != codes.DataLoss || status.Convert(err).Message() != "gone" {
		t.Errorf("%v", err)
	}
	for range 2 {
		if _, err = s.export(raw); err != nil {
			t.Errorf("%v", err)
		}
	}
	if kept := len(s.kept()); kept != 3*(4+len(raw)) {
		t.Errorf("%d bytes kept", kept)
	}
	if record := s.records(7)[2]; record.Answer != "resource_exhausted+retry=200ms" || record.Observations != 3 {
		t.Errorf("%+v", record)
	}
}

func TestHTTPAnswersAsTheCollectorDoes(t *testing.T) {
	s := startSink(t, "resource_exhausted+retry=1500ms,permission_denied,502,ok", "", 4<<20)
	raw := requestBytes(t)
	if code, header, _ := s.post(raw); code != 429 || header.Get("Retry-After") != "2" {
		t.Errorf("HTTP %d, %v", code, header)
	}
	for _, want := range []int{403, 502} {
		if code, _, _ := s.post(raw); code != want {
			t.Errorf("HTTP %d, want %d", code, want)
		}
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	writer.Write(raw)
	writer.Close()
	if code, header, _ := s.post(packed.Bytes(), "Content-Encoding", "gzip"); code != 200 ||
		header.Get("Content-Type") != protobufType {
		t.Errorf("HTTP %d", code)
	}
	if code, _, _ := s.post(raw, "Content-Encoding", "br"); code != 400 {
		t.Errorf("HTTP %d", code)
	}
	response, err := http.Post("http://"+s.http+"/v1development/profiles", "text/plain", nil)
	if err != nil || response.StatusCode != 415 {
		t.Errorf("%v %v", response, err)
	}
}

func TestALimitIsOnTheUncompressedSize(t *testing.T) {
	s := startSink(t, "ok", "", 200)
	if _, err := s.export(requestBytes(t)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v", err)
	}
	if code, _, _ := s.post(requestBytes(t)); code != 400 {
		t.Errorf("HTTP %d", code)
	}
	// Noted after the answer was sent, so either may come first.
	records := s.records(2)
	answers := []string{records[0].Answer, records[1].Answer}
	slices.Sort(answers)
	if !slices.Equal(answers, []string{"400", "resource_exhausted"}) {
		t.Errorf("%v", answers)
	}
}

func TestHangAndReset(t *testing.T) {
	s := startSink(t, "reset,reset,hang,ok", "", 4<<20)
	if _, err := s.export(requestBytes(t)); status.Code(err) != codes.Unavailable {
		t.Errorf("reset: %v", err)
	}
	if code, _, _ := s.post(requestBytes(t)); code != 0 {
		t.Errorf("reset: HTTP %d", code)
	}
	if _, err := s.export(requestBytes(t)); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("hang: %v", err)
	}
	if _, err := s.export(requestBytes(t)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	for i, want := range []string{"reset", "reset", "hang", "ok"} {
		if got := s.records(4)[i].Answer; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAChangedScriptBeginsAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("unavailable\n")
	s := startSink(t, "", path, 4<<20)
	raw := requestBytes(t)
	if _, err := s.export(raw); status.Code(err) != codes.Unavailable {
		t.Errorf("%v", err)
	}
	write("ok,aborted")
	if _, err := s.export(raw); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := s.export(raw); status.Code(err) != codes.Aborted {
		t.Errorf("%v", err)
	}
}

func TestWrongScriptsAreRefused(t *testing.T) {
	for _, text := range []string{"", "okay", "ok*0", "ok*x", "partial=x", "ok+retry=soon", "ok+delay=1s", "99"} {
		if _, err := newScript(text, ""); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
	for name := range codeNames {
		if _, err := newScript(name, ""); err != nil {
			t.Error(err)
		}
	}
}
