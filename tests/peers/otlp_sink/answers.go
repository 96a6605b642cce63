// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// How a request is answered.
type kind int

const (
	answerStatus  kind = iota // with code and message; accepted when the code is OK
	answerPartial             // accepted, but for some profiles
	answerHang                // never
	answerReset               // by closing the connection once the header has arrived
)

type answer struct {
	kind     kind
	code     codes.Code
	message  string
	rejected int64         // profiles, of answerPartial
	retry    time.Duration // RetryInfo or Retry-After; 0: none
	http     int           // status over HTTP where the script gives one; 0: as code says
	text     string        // as the script has it
}

// The names of gRPC codes as a script writes them: unavailable, resource_exhausted.
var codeNames = func() map[string]codes.Code {
	names := map[string]codes.Code{}
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		names[snakeCase(code.String())] = code
	}
	return names
}()

func snakeCase(name string) string {
	var text strings.Builder
	for i, letter := range name {
		if i > 0 && letter >= 'A' && letter <= 'Z' && name[i-1] >= 'a' {
			text.WriteByte('_')
		}
		text.WriteRune(letter)
	}
	return strings.ToLower(text.String())
}

// The text of one answer: NAME, NAME:message, NAME+retry=200ms, partial=7:message, 503.
func parseAnswer(text string) (answer, error) {
	result := answer{text: text}
	head, message, _ := strings.Cut(text, ":")
	result.message = message
	name, retry, hasRetry := strings.Cut(head, "+")
	if hasRetry {
		value, found := strings.CutPrefix(retry, "retry=")
		delay, err := time.ParseDuration(value)
		if !found || err != nil || delay < 0 {
			return answer{}, fmt.Errorf("wrong option %q of answer %q: want retry=DURATION", retry, text)
		}
		result.retry = delay
	}
	if count, found := strings.CutPrefix(name, "partial="); found {
		rejected, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			return answer{}, fmt.Errorf("wrong number in answer %q", text)
		}
		result.kind, result.rejected = answerPartial, rejected
		return result, nil
	}
	if status, err := strconv.Atoi(name); err == nil && status >= 200 && status <= 599 {
		result.http = status
		result.code = codeOfHTTP(status)
		return result, nil
	}
	code, known := codeNames[name]
	switch {
	case known:
		result.code = code
	case name == "hang":
		result.kind = answerHang
	case name == "reset":
		result.kind = answerReset
	default:
		return answer{}, fmt.Errorf("unknown answer %q: want a gRPC code such as resource_exhausted, "+
			"an HTTP status, partial=N, hang or reset", name)
	}
	return result, nil
}

// A step of a script: the same answer a number of times.
type step struct {
	answer answer
	count  int
}

// parseScript reads steps with commas between them, each an answer or ANSWER*COUNT.
func parseScript(text string) ([]step, error) {
	var steps []step
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		one := step{count: 1}
		name := strings.TrimSpace(part)
		if star := strings.LastIndexByte(name, '*'); star >= 0 {
			count, err := strconv.Atoi(name[star+1:])
			if err != nil || count < 1 {
				return nil, fmt.Errorf("wrong count in %q: want ANSWER*COUNT", name)
			}
			name, one.count = name[:star], count
		}
		var err error
		if one.answer, err = parseAnswer(name); err != nil {
			return nil, err
		}
		steps = append(steps, one)
	}
	return steps, nil
}

// A script that answers each request in turn; the last step repeats. With a file, that is read
// again at each request, and the script begins anew when its text has changed.
type script struct {
	mutex sync.Mutex
	file  string
	text  string
	steps []step
	given int // answers of the first step of steps
}

func newScript(text, file string) (*script, error) {
	result := &script{file: file}
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		text = string(content)
	}
	return result, result.load(text)
}

func (s *script) load(text string) error {
	steps, err := parseScript(text)
	if err != nil {
		return err
	}
	s.text, s.steps, s.given = text, steps, 0
	return nil
}

// next is the answer to the request that has just arrived.
func (s *script) next() (answer, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.file != "" {
		content, err := os.ReadFile(s.file)
		// A test that is just writing the file leaves it empty for a moment.
		if err == nil && string(content) != s.text && strings.TrimSpace(string(content)) != "" {
			err = s.load(string(content))
		}
		if err != nil {
			return answer{}, err
		}
	}
	if s.given == s.steps[0].count && len(s.steps) > 1 {
		s.steps, s.given = s.steps[1:], 0
	}
	if s.given < s.steps[0].count {
		s.given++
	}
	return s.steps[0].answer, nil
}
