// SPDX-License-Identifier: Apache-2.0

// Command processor_time_go measures how long processors of the Collector take, one behind the
// other, for the requests of all files, raw or each behind its length in 4 bytes, big-endian:
//
//	processor_time_go [-seconds S] -p TYPE=OPTIONS [-p TYPE=OPTIONS]... FILE...
//
// Options are JSON. It prints what processor_time prints for profcol.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/filterprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/k8sattributesprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/resourceprocessor"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/xprocessor"
)

var factories = map[string]func() processor.Factory{
	"filter":         filterprocessor.NewFactory,
	"k8s_attributes": k8sattributesprocessor.NewFactory,
	"resource":       resourceprocessor.NewFactory,
}

// What -p says, in its order.
type chain []string

func (c *chain) String() string { return strings.Join(*c, " ") }

func (c *chain) Set(text string) error {
	*c = append(*c, text)
	return nil
}

// The end of the chain, which keeps nothing but a number.
type sink struct {
	passed int
}

func (s *sink) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (s *sink) ConsumeProfiles(_ context.Context, profiles pprofile.Profiles) error {
	s.passed += profiles.SampleCount()
	return nil
}

type figures struct {
	Samples int   `json:"samples"`
	Left    int   `json:"left"`
	Ns      int64 `json:"ns"` // the least of all rounds, all samples together
}

func create(text string, next xconsumer.Profiles) (xprocessor.Profiles, error) {
	name, options, _ := strings.Cut(text, "=")
	newFactory := factories[name]
	if newFactory == nil {
		return nil, fmt.Errorf("no processor %q", name)
	}
	raw := map[string]any{}
	if err := json.Unmarshal([]byte(options), &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	factory := newFactory()
	configuration := factory.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(raw).Unmarshal(configuration); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	settings := processor.Settings{
		ID:                component.NewID(factory.Type()),
		TelemetrySettings: componenttest.NewNopTelemetrySettings(),
	}
	return factory.(xprocessor.Factory).CreateProfiles(context.Background(), settings,
		configuration, next)
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

func read(paths []string) ([]pprofile.Profiles, error) {
	var all []pprofile.Profiles
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, raw := range requests(file) {
			// As the receiver does: pprofile.ProtoUnmarshaler 0.159 empties keys of attributes
			// that are no references.
			request := pprofileotlp.NewExportRequest()
			if err := request.UnmarshalProto(raw); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, request.Profiles())
		}
	}
	return all, nil
}

// copies are for processors, which change what they are given.
func copies(all []pprofile.Profiles) []pprofile.Profiles {
	made := make([]pprofile.Profiles, len(all))
	for i, one := range all {
		made[i] = pprofile.NewProfiles()
		one.CopyTo(made[i])
	}
	return made
}

func measure(stages chain, paths []string, limit time.Duration) (figures, error) {
	all, err := read(paths)
	if err != nil {
		return figures{}, err
	}
	var result figures
	for _, one := range all {
		result.Samples += one.SampleCount()
	}
	end := &sink{}
	var first xconsumer.Profiles = end
	ctx := context.Background()
	for i := len(stages) - 1; i >= 0; i-- {
		stage, err := create(stages[i], first)
		if err != nil {
			return figures{}, err
		}
		if err := stage.Start(ctx, componenttest.NewNopHost()); err != nil {
			return figures{}, err
		}
		defer stage.Shutdown(ctx)
		first = stage
	}
	for until := time.Now().Add(limit); result.Ns == 0 || time.Now().Before(until); {
		batches := copies(all)
		end.passed = 0
		begin := time.Now()
		for _, one := range batches {
			if err := first.ConsumeProfiles(ctx, one); err != nil {
				return figures{}, err
			}
		}
		if ns := time.Since(begin).Nanoseconds(); result.Ns == 0 || ns < result.Ns {
			result.Ns = ns
		}
	}
	result.Left = end.passed
	return result, nil
}

func main() {
	var stages chain
	seconds := flag.Float64("seconds", 2, "how long to measure")
	flag.Var(&stages, "p", "TYPE=OPTIONS of a processor; may be repeated")
	flag.Parse()
	result, err := measure(stages, flag.Args(), time.Duration(*seconds*float64(time.Second)))
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "processor_time_go:", err)
		os.Exit(1)
	}
}
