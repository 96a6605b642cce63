// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// The gRPC server: pdata's own service, so that it takes and refuses what a Collector does. Around
// it, a codec keeps the bytes of each message, an interceptor gives the scripted answer, and a
// stats handler sees the requests that never reach the service.
type grpcSink struct {
	pprofileotlp.UnimplementedGRPCServer
	script      *script
	output      *output
	connections *connections
	stopping    <-chan struct{}
}

type recordKey struct{}

func (s *grpcSink) serve(listener net.Listener, security *tls.Config, maxBytes int) *grpc.Server {
	s.connections = trackConnections(listener)
	codec := &keepingCodec{CodecV2: encoding.GetCodecV2("proto")}
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxBytes),
		grpc.ForceServerCodecV2(codec),
		grpc.StatsHandler(s),
		grpc.UnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo,
			handler grpc.UnaryHandler) (any, error) {
			return s.answer(ctx, codec.take(request), request, handler)
		}),
	}
	if security != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(security)))
	}
	server := grpc.NewServer(options...)
	pprofileotlp.RegisterGRPCServer(server, s)
	go server.Serve(s.connections)
	return server
}

// keepingCodec remembers the bytes that each message was decoded from until they are taken.
type keepingCodec struct {
	encoding.CodecV2
	raw sync.Map // the message: its bytes
}

func (c *keepingCodec) Unmarshal(data mem.BufferSlice, message any) error {
	raw := data.Materialize()
	err := c.CodecV2.Unmarshal(data, message)
	if err == nil {
		c.raw.Store(message, raw)
	}
	return err
}

func (c *keepingCodec) take(message any) []byte {
	raw, _ := c.raw.LoadAndDelete(message)
	bytes, _ := raw.([]byte)
	return bytes
}

// Export is called with what pdata has decoded and resolved.
func (s *grpcSink) Export(ctx context.Context, request pprofileotlp.ExportRequest) (pprofileotlp.ExportResponse, error) {
	record := ctx.Value(recordKey{}).(*record)
	response := pprofileotlp.NewExportResponse()
	record.mutex.Lock()
	defer record.mutex.Unlock()
	record.count(request.Profiles())
	if record.answer.kind == answerPartial {
		response.PartialSuccess().SetRejectedProfiles(record.answer.rejected)
		response.PartialSuccess().SetErrorMessage(record.answer.message)
		return response, s.output.keep(record.raw)
	}
	if err := record.answer.status(); err != nil {
		return response, err
	}
	return response, s.output.keep(record.raw)
}

// status is the error of an answer; nil for OK.
func (a answer) status() error {
	if a.code == codes.OK {
		return nil
	}
	message := a.message
	if message == "" {
		message = "scripted answer"
	}
	result := status.New(a.code, message)
	if a.retry > 0 {
		detailed, err := result.WithDetails(
			&errdetails.RetryInfo{RetryDelay: durationpb.New(a.retry)})
		if err != nil {
			return err
		}
		result = detailed
	}
	return result.Err()
}

func (s *grpcSink) answer(ctx context.Context, raw []byte, request any, handler grpc.UnaryHandler) (any, error) {
	record := ctx.Value(recordKey{}).(*record)
	record.mutex.Lock()
	record.raw, record.RawBytes = raw, len(raw)
	hang := record.answer.kind == answerHang
	record.mutex.Unlock()
	if hang {
		if err := s.output.note(record); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
		case <-s.stopping:
		}
		return nil, status.Error(codes.Canceled, "never answered")
	}
	response, err := handler(ctx, request)
	record.refused(err)
	// Logged before the peer has the answer.
	if problem := s.output.note(record); problem != nil && err == nil {
		err = problem
	}
	return response, err
}

// refused notes an error that the script has not asked for.
func (r *record) refused(err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err != nil && (r.answer.kind == answerPartial || status.Code(err) != r.answer.code) {
		r.Answer = snakeCase(status.Code(err).String())
		r.Message = status.Convert(err).Message()
	}
}

// ---- stats.Handler ----

func (s *grpcSink) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	answer, err := s.script.next()
	if err != nil {
		answer.code, answer.message, answer.text = codes.Internal, err.Error(), err.Error()
	}
	record := newRecord("grpc", answer)
	headers, _ := metadata.FromIncomingContext(ctx)
	record.Metadata = map[string][]string{}
	for key, values := range headers {
		if !strings.HasPrefix(key, ":") {
			record.Metadata[key] = values
		}
	}
	if agent := headers.Get("user-agent"); len(agent) > 0 {
		record.UserAgent = agent[0]
	}
	return context.WithValue(ctx, recordKey{}, record)
}

func (s *grpcSink) HandleRPC(ctx context.Context, event stats.RPCStats) {
	record, _ := ctx.Value(recordKey{}).(*record)
	switch event := event.(type) {
	case *stats.InHeader:
		record.mutex.Lock()
		record.Compression = event.Compression
		record.Peer = event.RemoteAddr.String()
		reset := record.answer.kind == answerReset
		record.mutex.Unlock()
		if reset {
			s.output.note(record)
			s.connections.reset(event.RemoteAddr.String())
		}
	case *stats.InPayload:
		record.mutex.Lock()
		record.WireBytes, record.RawBytes = event.CompressedLength, event.Length
		record.mutex.Unlock()
	case *stats.End:
		record.refused(event.Error)
		s.output.note(record)
	}
}

func (s *grpcSink) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}

func (s *grpcSink) HandleConn(context.Context, stats.ConnStats) {}

// stopGRPC lets answers that are under way finish.
func stopGRPC(server *grpc.Server) {
	timer := time.AfterFunc(2*time.Second, server.Stop)
	server.GracefulStop()
	timer.Stop()
}
