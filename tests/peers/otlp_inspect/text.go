// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// The canonical text: a line for each observation, every index resolved, byte for byte what
// profile_print() in lib/profile/print.c writes of the same data.
type textWriter struct {
	strings.Builder
	dictionary dictionary
}

func (w *textWriter) quoted(text string) {
	isUTF8 := utf8.ValidString(text)
	w.WriteByte('"')
	for i := range len(text) {
		switch letter := text[i]; {
		case letter == '"' || letter == '\\':
			w.WriteByte('\\')
			w.WriteByte(letter)
		case letter == '\n':
			w.WriteString("\\n")
		case letter < ' ' || letter == 0x7f || letter > 0x7f && !isUTF8:
			fmt.Fprintf(w, "\\x%02x", letter)
		default:
			w.WriteByte(letter)
		}
	}
	w.WriteByte('"')
}

// real prints as C's %g does.
func (w *textWriter) real(value float64) {
	text := fmt.Sprintf("%.6g", value)
	switch {
	case math.IsNaN(value) && math.Signbit(value):
		text = "-nan"
	case math.IsNaN(value):
		text = "nan"
	case math.IsInf(value, 1):
		text = "inf"
	case math.IsInf(value, -1):
		text = "-inf"
	}
	fmt.Fprintf(w, "%s/%016x", text, math.Float64bits(value))
}

func (w *textWriter) value(value pcommon.Value) {
	switch value.Type() {
	case pcommon.ValueTypeStr:
		w.quoted(value.Str())
	case pcommon.ValueTypeBool:
		fmt.Fprintf(w, "%t", value.Bool())
	case pcommon.ValueTypeInt:
		fmt.Fprintf(w, "%d", value.Int())
	case pcommon.ValueTypeDouble:
		w.real(value.Double())
	case pcommon.ValueTypeBytes:
		fmt.Fprintf(w, "bytes:%x", value.Bytes().AsRaw())
	case pcommon.ValueTypeSlice:
		fmt.Fprintf(w, "array:%x", encodeAnyValue(value))
	case pcommon.ValueTypeMap:
		fmt.Fprintf(w, "kvlist:%x", encodeAnyValue(value))
	default:
		w.WriteString("empty")
	}
}

func (w *textWriter) inlineAttributes(attributes pcommon.Map) {
	w.WriteByte('{')
	between := ""
	for key, value := range attributes.All() {
		w.WriteString(between)
		w.quoted(key)
		w.WriteByte('=')
		w.value(value)
		between = ", "
	}
	w.WriteByte('}')
}

func (w *textWriter) attributes(indices pcommon.Int32Slice) {
	w.WriteByte('{')
	between := ""
	for _, index := range indices.All() {
		attribute := w.dictionary.attribute(index)
		w.WriteString(between)
		w.quoted(w.dictionary.text(attribute.KeyStrindex()))
		w.WriteByte('=')
		w.value(attribute.Value())
		if attribute.UnitStrindex() != 0 {
			w.WriteString(" in ")
			w.quoted(w.dictionary.text(attribute.UnitStrindex()))
		}
		between = ", "
	}
	w.WriteByte('}')
}

func (w *textWriter) mapping(index int32) {
	if index == 0 {
		return
	}
	mapping := w.dictionary.mapping(index)
	w.quoted(w.dictionary.text(mapping.FilenameStrindex()))
	fmt.Fprintf(w, "[%x-%x@%x]", mapping.MemoryStart(), mapping.MemoryLimit(), mapping.FileOffset())
	if mapping.AttributeIndices().Len() > 0 {
		w.attributes(mapping.AttributeIndices())
	}
}

func (w *textWriter) line(line pprofile.Line) {
	function := w.dictionary.function(line.FunctionIndex())
	w.WriteByte(' ')
	w.quoted(w.dictionary.text(function.NameStrindex()))
	if function.SystemNameStrindex() != 0 {
		w.WriteByte('(')
		w.quoted(w.dictionary.text(function.SystemNameStrindex()))
		w.WriteByte(')')
	}
	if function.FilenameStrindex() != 0 || function.StartLine() != 0 || line.Line() != 0 ||
		line.Column() != 0 {
		w.WriteByte('@')
		w.quoted(w.dictionary.text(function.FilenameStrindex()))
		fmt.Fprintf(w, "%d:%d:%d", function.StartLine(), line.Line(), line.Column())
	}
}

func (w *textWriter) stack(index int32) {
	w.WriteByte('[')
	for i, at := range w.dictionary.stack(index).LocationIndices().All() {
		location := w.dictionary.location(at)
		if i > 0 {
			w.WriteString("; ")
		}
		w.mapping(location.MappingIndex())
		fmt.Fprintf(w, "+%x", location.Address())
		for _, line := range location.Lines().All() {
			w.line(line)
		}
		if location.AttributeIndices().Len() > 0 {
			w.attributes(location.AttributeIndices())
		}
	}
	w.WriteByte(']')
}

func (w *textWriter) resource(resource pprofile.ResourceProfiles) {
	w.WriteString("resource ")
	w.inlineAttributes(resource.Resource().Attributes())
	w.WriteByte(' ')
	w.quoted(resource.SchemaUrl())
	fmt.Fprintf(w, " dropped %d entities:%x", resource.Resource().DroppedAttributesCount(),
		encodeEntityRefs(resource.Resource()))
}

func (w *textWriter) scope(scope pprofile.ScopeProfiles) {
	w.WriteString(" | scope ")
	w.quoted(scope.Scope().Name())
	w.WriteByte(' ')
	w.quoted(scope.Scope().Version())
	w.WriteByte(' ')
	w.inlineAttributes(scope.Scope().Attributes())
	w.WriteByte(' ')
	w.quoted(scope.SchemaUrl())
	fmt.Fprintf(w, " dropped %d", scope.Scope().DroppedAttributesCount())
}

func (w *textWriter) valueType(value pprofile.ValueType) {
	w.quoted(w.dictionary.text(value.TypeStrindex()))
	w.WriteByte('/')
	w.quoted(w.dictionary.text(value.UnitStrindex()))
}

func (w *textWriter) profile(profile pprofile.Profile) {
	id := profile.ProfileID()
	w.WriteString(" | profile ")
	w.valueType(profile.SampleType())
	fmt.Fprintf(w, " every %d ", profile.Period())
	w.valueType(profile.PeriodType())
	fmt.Fprintf(w, " from %d for %d id %x ", uint64(profile.Time()), profile.DurationNano(), id[:])
	w.attributes(profile.AttributeIndices())
	fmt.Fprintf(w, " dropped %d payload ", profile.DroppedAttributesCount())
	w.quoted(profile.OriginalPayloadFormat())
	fmt.Fprintf(w, " bytes:%x", profile.OriginalPayload().AsRaw())
}

func (w *textWriter) link(index int32) {
	if index == 0 {
		w.WriteString(" link -")
		return
	}
	link := w.dictionary.link(index)
	trace, span := link.TraceID(), link.SpanID()
	fmt.Fprintf(w, " link %x/%x", trace[:], span[:])
}

// sampleLines are the lines of one sample, without line breaks.
func sampleLines(at place, sample pprofile.Sample) []string {
	w := &textWriter{dictionary: at.dictionary}
	w.resource(at.resource)
	w.scope(at.scope)
	w.profile(at.profile)
	w.WriteString(" | ")
	w.stack(sample.StackIndex())
	w.WriteByte(' ')
	w.attributes(sample.AttributeIndices())
	w.link(sample.LinkIndex())

	values, times := sample.Values(), sample.TimestampsUnixNano()
	count := times.Len()
	if count == 0 {
		count = values.Len()
	}
	lines := make([]string, 0, count)
	for i := range count {
		value, when := int64(1), "-"
		if i < values.Len() {
			value = values.At(i)
		}
		if times.Len() > 0 {
			when = fmt.Sprint(times.At(i))
		}
		lines = append(lines, fmt.Sprintf("%s value %d at %s", w.String(), value, when))
	}
	return lines
}

func linesWithin(at place, sample pprofile.Sample, window window) []string {
	times := sample.TimestampsUnixNano()
	var lines []string
	for i, line := range sampleLines(at, sample) {
		when := uint64(at.profile.Time())
		if i < times.Len() {
			when = times.At(i)
		}
		if window.holds(when) {
			lines = append(lines, line)
		}
	}
	return lines
}

func printText(out io.Writer, requests []request, window window, sorted bool) error {
	buffer := bufio.NewWriter(out)
	var kept []string
	for i := range requests {
		err := eachSample(requests, i, func(at place, sample pprofile.Sample) {
			for _, line := range linesWithin(at, sample, window) {
				if sorted {
					kept = append(kept, line)
				} else {
					buffer.WriteString(line + "\n")
				}
			}
		})
		if err != nil {
			return err
		}
	}
	slices.Sort(kept)
	for _, line := range kept {
		buffer.WriteString(line + "\n")
	}
	return buffer.Flush()
}
