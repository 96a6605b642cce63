// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	method = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

	// Codes of gRPC.
	statusOK          = "0"
	statusExhausted   = "8"
	statusUnavailable = "14"

	refusedDelay = 10 * time.Millisecond
)

// All clients of a run, and what is between them and the sink.
type traffic struct {
	settings settings
	payloads []payload
	arrivals *arrivals
	limit    int64 // observations that may be on their way

	mutex    sync.Mutex
	changed  sync.Cond
	sent     int64 // observations that were accepted or are being sent
	next     int   // of payloads
	ended    bool  // no more requests: time is over, or an error
	err      error
	progress time.Time // of the last arrival or acceptance
	figures  figures
}

func run(s settings, paths []string) (figures, error) {
	payloads, err := readPayloads(paths, s.gzip)
	if err != nil {
		return figures{}, err
	}
	log, err := followArrivals(s.log)
	if err != nil {
		return figures{}, err
	}
	defer log.file.Close()
	t := &traffic{settings: s, payloads: payloads, arrivals: log, progress: time.Now()}
	t.changed.L = &t.mutex
	for _, one := range payloads {
		t.limit += int64(one.observations)
	}
	t.limit = t.limit * int64(s.window) / int64(len(payloads))

	begin := time.Now()
	var clients sync.WaitGroup
	for range s.clients {
		clients.Go(t.send)
	}
	if !s.once {
		time.AfterFunc(s.length, func() { t.end(nil) })
	}
	done := make(chan struct{})
	go func() {
		clients.Wait()
		close(done)
	}()
	if err := t.watch(done); err != nil {
		return figures{}, err
	}
	t.figures.Seconds = time.Since(begin).Seconds()
	t.figures.Arrived = log.sum
	return t.figures, nil
}

// end lets no client begin another request.
func (t *traffic) end(err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.ended = true
	if t.err == nil {
		t.err = err
	}
	t.changed.Broadcast()
}

// watch reads the log of the sink until all has arrived.
func (t *traffic) watch(done <-chan struct{}) error {
	quiet := false
	for {
		select {
		case <-done:
			quiet = true
		default:
		}
		finished, err := t.look(quiet)
		if err != nil {
			t.end(err)
			return err
		}
		if finished {
			return nil
		}
		time.Sleep(pollInterval)
	}
}

func (t *traffic) look(quiet bool) (finished bool, err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	before := t.arrivals.sum.Observations
	if err := t.arrivals.read(); err != nil {
		return false, err
	}
	here := t.arrivals.sum.Observations
	if here > before {
		t.progress = time.Now()
		t.changed.Broadcast()
	}
	switch {
	case t.err != nil:
		return false, t.err
	case here > t.sent:
		return false, fmt.Errorf("%d samples arrived of %d that were sent", here, t.sent)
	case quiet && here == t.sent:
		return true, nil
	case time.Since(t.progress) > t.settings.patience:
		return false, fmt.Errorf("%d of %d accepted samples have not arrived, and none for %v",
			t.sent-here, t.sent, t.settings.patience)
	}
	return false, nil
}

// take is the next request to send, once the window has room for it; nil when there is none.
func (t *traffic) take() *payload {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	one := &t.payloads[t.next]
	for !t.ended {
		under := t.sent - t.arrivals.sum.Observations
		if under == 0 || under+int64(one.observations) <= t.limit {
			t.sent += int64(one.observations)
			t.next = (t.next + 1) % len(t.payloads)
			if t.settings.once && t.next == 0 {
				t.ended = true
				t.changed.Broadcast()
			}
			return one
		}
		t.changed.Wait()
		one = &t.payloads[t.next]
	}
	return nil
}

// send is one client.
func (t *traffic) send() {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: t.settings.patience}
	for one := t.take(); one != nil; one = t.take() {
		if err := t.deliver(client, one); err != nil {
			t.end(err)
			return
		}
	}
}

// deliver sends until the gateway accepts.
func (t *traffic) deliver(client *http.Client, one *payload) error {
	for end := time.Now().Add(t.settings.patience); ; {
		code, message, err := t.post(client, one)
		if err != nil {
			return err
		}
		again := code == statusExhausted || code == statusUnavailable
		t.note(one, code == statusOK)
		switch {
		case code == statusOK:
			return nil
		case !again || time.Now().After(end):
			return fmt.Errorf("the gateway refused a request of %d bytes with code %s: %s",
				one.rawBytes, code, message)
		}
		time.Sleep(refusedDelay)
	}
}

func (t *traffic) note(one *payload, accepted bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if !accepted {
		t.figures.Refused++
		return
	}
	t.figures.Requests++
	t.figures.Profiles += int64(one.profiles)
	t.figures.Samples += int64(one.samples)
	t.figures.Observations += int64(one.observations)
	t.figures.RawBytes += int64(one.rawBytes)
	t.figures.WireBytes += int64(len(one.message))
}

// post is a unary call of gRPC. A library for it would compress the same request anew each time,
// on the CPUs that the gateway is measured on.
func (t *traffic) post(client *http.Client, one *payload) (code, message string, err error) {
	request, err := http.NewRequest("POST", "http://"+t.settings.to+method,
		bytes.NewReader(one.message))
	if err != nil {
		return "", "", err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("Te", "trailers")
	request.Header.Set("Otlp-Profiles-Development-Version", "1")
	if t.settings.gzip {
		request.Header.Set("Grpc-Encoding", "gzip")
	}
	response, err := client.Do(request)
	if err != nil {
		return "", "", err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return "", "", err
	}
	// An answer without a message has its status in the headers.
	for _, headers := range []http.Header{response.Trailer, response.Header} {
		if code := headers.Get("Grpc-Status"); code != "" {
			return code, headers.Get("Grpc-Message"), nil
		}
	}
	return "", "", fmt.Errorf("no gRPC at %s: it answered %s", t.settings.to, response.Status)
}
