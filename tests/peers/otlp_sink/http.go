// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const (
	protobufType = "application/x-protobuf"
	jsonType     = "application/json"
)

// The HTTP server, with the Collector's path, statuses and bodies.
type httpSink struct {
	script   *script
	output   *output
	maxBytes int
	stopping <-chan struct{}
}

func (s *httpSink) serve(listener net.Listener, security *tls.Config) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1development/profiles", s.handle)
	server := &http.Server{Handler: mux, TLSConfig: security}
	if security != nil {
		go server.ServeTLS(listener, "", "")
	} else {
		go server.Serve(listener)
	}
	return server
}

func (s *httpSink) handle(writer http.ResponseWriter, request *http.Request) {
	answer, err := s.script.next()
	if err != nil {
		http.Error(writer, err.Error(), http.StatusInternalServerError)
		return
	}
	record := newRecord("http", answer)
	record.UserAgent = request.UserAgent()
	record.Metadata = request.Header
	record.Compression = request.Header.Get("Content-Encoding")
	record.Peer = request.RemoteAddr
	switch answer.kind {
	case answerReset:
		s.output.note(record)
		resetHTTP(writer)
		return
	case answerHang:
		s.output.note(record)
		select {
		case <-request.Context().Done():
		case <-s.stopping:
		}
		return
	}
	s.export(writer, request, record)
	s.output.note(record)
}

// resetHTTP closes the connection of a request without an answer.
func resetHTTP(writer http.ResponseWriter) {
	hijacker, ok := writer.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler) // HTTP/2: ends the stream only
	}
	connection, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	connection.Close()
}

// export answers what has come, in the Collector's order of checks.
func (s *httpSink) export(writer http.ResponseWriter, request *http.Request, record *record) {
	contentType, _, _ := mime.ParseMediaType(request.Header.Get("Content-Type"))
	if request.Method != http.MethodPost {
		plainError(writer, record, http.StatusMethodNotAllowed,
			"405 method not allowed, supported: [POST]")
		return
	}
	if contentType != protobufType && contentType != jsonType {
		plainError(writer, record, http.StatusUnsupportedMediaType,
			"415 unsupported media type, supported: [application/json, application/x-protobuf]")
		return
	}
	version := request.Header.Values(pprofileotlp.DevelopmentVersionHeader)
	if err := pprofileotlp.ValidateDevelopmentVersion(version); err != nil {
		fail(writer, record, contentType, http.StatusBadRequest,
			status.New(codes.InvalidArgument, err.Error()))
		return
	}
	if err := s.readBody(request, record); err != nil {
		fail(writer, record, contentType, http.StatusBadRequest,
			status.New(codes.InvalidArgument, err.Error()))
		return
	}
	export := pprofileotlp.NewExportRequest()
	decode := export.UnmarshalProto
	if contentType == jsonType {
		decode, record.Encoding = export.UnmarshalJSON, "json"
	}
	if err := decode(record.raw); err != nil {
		fail(writer, record, contentType, http.StatusBadRequest,
			status.New(codes.InvalidArgument, err.Error()))
		return
	}
	record.count(export.Profiles())
	s.respond(writer, record, contentType)
}

// countingReader counts what is read through it.
type countingReader struct {
	io.Reader
	count int
}

func (c *countingReader) Read(buffer []byte) (int, error) {
	n, err := c.Reader.Read(buffer)
	c.count += n
	return n, err
}

func (s *httpSink) readBody(request *http.Request, record *record) error {
	wire := &countingReader{Reader: request.Body}
	var body io.Reader = wire
	var err error
	switch record.Compression {
	case "", "identity":
	case "gzip":
		body, err = gzip.NewReader(wire)
	case "deflate", "zlib":
		body, err = zlib.NewReader(wire)
	default:
		return fmt.Errorf("unsupported Content-Encoding: %s", record.Compression)
	}
	if err != nil {
		return err
	}
	record.raw, err = io.ReadAll(io.LimitReader(body, int64(s.maxBytes)+1))
	record.RawBytes, record.WireBytes = len(record.raw), wire.count
	if len(record.raw) > s.maxBytes {
		return errors.New("http: request body too large")
	}
	return err
}

// respond gives the scripted answer to a request that is in order.
func (s *httpSink) respond(writer http.ResponseWriter, record *record, contentType string) {
	answer := record.answer
	if err := answer.status(); err != nil {
		code := answer.http
		if code == 0 {
			code = httpOfCode(answer.code)
		}
		if answer.retry > 0 {
			writer.Header().Set("Retry-After",
				strconv.Itoa(int(math.Ceil(answer.retry.Seconds()))))
		}
		fail(writer, nil, contentType, code, status.Convert(err))
		return
	}
	response := pprofileotlp.NewExportResponse()
	if answer.kind == answerPartial {
		response.PartialSuccess().SetRejectedProfiles(answer.rejected)
		response.PartialSuccess().SetErrorMessage(answer.message)
	}
	encode := response.MarshalProto
	if contentType == jsonType {
		encode = response.MarshalJSON
	}
	body, err := encode()
	if err == nil && record.Encoding == "proto" {
		err = s.output.keep(record.raw)
	}
	if err != nil {
		fail(writer, record, contentType, http.StatusInternalServerError,
			status.New(codes.Internal, err.Error()))
		return
	}
	code := http.StatusOK
	if answer.http != 0 {
		code = answer.http
	}
	writer.Header().Set("Content-Type", contentType)
	writer.WriteHeader(code)
	writer.Write(body)
}

// fail answers with a Status in the request's own encoding. The record is that of a request
// which something other than the script refuses.
func fail(writer http.ResponseWriter, record *record, contentType string, code int, reason *status.Status) {
	message := reason.Proto()
	encode := proto.Marshal
	if contentType == jsonType {
		encode = protojson.Marshal
	}
	if record != nil {
		record.Answer, record.Message = strconv.Itoa(code), reason.Message()
	}
	body, err := encode(message)
	if err != nil {
		code, body = http.StatusInternalServerError, nil
	}
	writer.Header().Set("Content-Type", contentType)
	writer.WriteHeader(code)
	writer.Write(body)
}

func plainError(writer http.ResponseWriter, record *record, code int, message string) {
	record.Answer, record.Message = strconv.Itoa(code), message
	writer.Header().Set("Content-Type", "text/plain")
	writer.WriteHeader(code)
	io.WriteString(writer, message)
}

// httpOfCode is the Collector's status for an error of its pipeline.
func httpOfCode(code codes.Code) int {
	switch code {
	case codes.OK:
		return http.StatusOK
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange,
		codes.Unavailable, codes.DataLoss:
		return http.StatusServiceUnavailable
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.InvalidArgument:
		return http.StatusBadRequest
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.Unimplemented:
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

// codeOfHTTP is what a scripted HTTP status is over gRPC.
func codeOfHTTP(code int) codes.Code {
	switch {
	case code < 300:
		return codes.OK
	case code == http.StatusTooManyRequests || code == http.StatusBadGateway ||
		code == http.StatusServiceUnavailable || code == http.StatusGatewayTimeout:
		return codes.Unavailable
	case code < 500:
		return codes.InvalidArgument
	}
	return codes.Internal
}

func stopHTTP(server *http.Server) {
	deadline, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if server.Shutdown(deadline) != nil {
		server.Close()
	}
}
