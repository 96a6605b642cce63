// SPDX-License-Identifier: Apache-2.0

// sink is an OTLP receiver for profiles, over gRPC and HTTP, that takes and refuses requests as
// the newest Collector does, and answers those in order as a script says.
//
// It prints `ready grpc=ADDRESS http=ADDRESS` once it listens and ends on SIGTERM or SIGINT.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type settings struct {
	grpc, http          string
	out, log            string
	cert, key, clientCA string
	maxRecvBytes        int
	answers, file       string
	listenDelay         time.Duration
}

func parseFlags() settings {
	var s settings
	flag.StringVar(&s.grpc, "grpc", "", "listen for gRPC: HOST:PORT (0: any port) or unix:PATH")
	flag.StringVar(&s.http, "http", "", "listen for HTTP: HOST:PORT or unix:PATH")
	flag.StringVar(&s.out, "out", "",
		"append the uncompressed body of each accepted request, behind its length (4 bytes, big endian)")
	flag.StringVar(&s.log, "log", "", "append a line of JSON for each request")
	flag.StringVar(&s.cert, "cert", "", "TLS: the server's certificate (PEM)")
	flag.StringVar(&s.key, "key", "", "TLS: the server's key (PEM)")
	flag.StringVar(&s.clientCA, "client-ca", "", "mTLS: whom client certificates must come from (PEM)")
	flag.IntVar(&s.maxRecvBytes, "max-recv-bytes", 4<<20, "largest request, uncompressed")
	flag.StringVar(&s.answers, "answers", "ok",
		"answers in turn, the last one again and again: unavailable*3,ok*5,"+
			"resource_exhausted+retry=200ms,hang,reset,partial=7:message,503,ok")
	flag.StringVar(&s.file, "answers-file", "",
		"a file with such a script; read at each request, it begins anew when it has changed")
	flag.DurationVar(&s.listenDelay, "listen-delay", 0, "wait before listening")
	flag.Parse()
	return s
}

func listen(address string) (net.Listener, error) {
	if path, found := strings.CutPrefix(address, "unix:"); found {
		path = strings.TrimPrefix(path, "//")
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		return net.Listen("unix", path)
	}
	return net.Listen("tcp", address)
}

func loadTLS(s settings) (*tls.Config, error) {
	if s.cert == "" && s.key == "" && s.clientCA == "" {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(s.cert, s.key)
	if err != nil {
		return nil, err
	}
	result := &tls.Config{Certificates: []tls.Certificate{certificate}}
	if s.clientCA != "" {
		text, err := os.ReadFile(s.clientCA)
		if err != nil {
			return nil, err
		}
		result.ClientCAs = x509.NewCertPool()
		if !result.ClientCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("no certificate in %s", s.clientCA)
		}
		result.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return result, nil
}

func run(s settings) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	stopping := make(chan struct{})
	security, err := loadTLS(s)
	if err != nil {
		return err
	}
	script, err := newScript(s.answers, s.file)
	if err != nil {
		return err
	}
	output, err := openOutput(s.out, s.log)
	if err != nil {
		return err
	}
	defer output.Close()
	select {
	case <-time.After(s.listenDelay):
	case <-signals:
		return nil
	}

	ready := "ready"
	if s.grpc != "" {
		listener, err := listen(s.grpc)
		if err != nil {
			return err
		}
		sink := &grpcSink{script: script, output: output, stopping: stopping}
		defer stopGRPC(sink.serve(listener, security, s.maxRecvBytes))
		ready += " grpc=" + listener.Addr().String()
	}
	if s.http != "" {
		listener, err := listen(s.http)
		if err != nil {
			return err
		}
		sink := &httpSink{script: script, output: output, maxBytes: s.maxRecvBytes,
			stopping: stopping}
		defer stopHTTP(sink.serve(listener, security))
		ready += " http=" + listener.Addr().String()
	}
	fmt.Println(ready)
	<-signals
	close(stopping)
	return nil
}

func main() {
	s := parseFlags()
	if s.grpc == "" && s.http == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "sink: give --grpc or --http, and nothing but options; see --help")
		os.Exit(2)
	}
	if err := run(s); err != nil {
		fmt.Fprintf(os.Stderr, "sink: %v\n", err)
		os.Exit(1)
	}
}
