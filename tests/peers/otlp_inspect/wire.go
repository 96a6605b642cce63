// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// Values that the canonical text shows as they are on the wire.

func appendBytesField(out []byte, field int, bytes []byte) []byte {
	out = binary.AppendUvarint(out, uint64(field)<<3|2)
	out = binary.AppendUvarint(out, uint64(len(bytes)))
	return append(out, bytes...)
}

func encodeKeyValues(values pcommon.Map) []byte {
	var out []byte
	for key, value := range values.All() {
		var pair []byte
		if key != "" {
			pair = appendBytesField(pair, 1, []byte(key))
		}
		pair = appendBytesField(pair, 2, encodeAnyValue(value))
		out = appendBytesField(out, 1, pair)
	}
	return out
}

func encodeAnyValue(value pcommon.Value) []byte {
	var out []byte
	switch value.Type() {
	case pcommon.ValueTypeStr:
		return appendBytesField(nil, 1, []byte(value.Str()))
	case pcommon.ValueTypeBool:
		if value.Bool() {
			return []byte{2 << 3, 1}
		}
		return []byte{2 << 3, 0}
	case pcommon.ValueTypeInt:
		return binary.AppendUvarint([]byte{3 << 3}, uint64(value.Int()))
	case pcommon.ValueTypeDouble:
		return binary.LittleEndian.AppendUint64([]byte{4<<3 | 1}, math.Float64bits(value.Double()))
	case pcommon.ValueTypeSlice:
		for _, item := range value.Slice().All() {
			out = appendBytesField(out, 1, encodeAnyValue(item))
		}
		return appendBytesField(nil, 5, out)
	case pcommon.ValueTypeMap:
		return appendBytesField(nil, 6, encodeKeyValues(value.Map()))
	case pcommon.ValueTypeBytes:
		return appendBytesField(nil, 7, value.Bytes().AsRaw())
	}
	return nil
}

// encodeEntityRefs are the fields 3 of a resource, each with its own fields in order. profcol keeps
// them as they came, so that the texts are equal when the sender wrote them in order, too.
func encodeEntityRefs(resource pcommon.Resource) []byte {
	var out []byte
	for _, reference := range entity.ResourceEntityRefs(resource).All() {
		var body []byte
		if reference.SchemaUrl() != "" {
			body = appendBytesField(body, 1, []byte(reference.SchemaUrl()))
		}
		if reference.Type() != "" {
			body = appendBytesField(body, 2, []byte(reference.Type()))
		}
		for _, key := range reference.IdKeys().All() {
			body = appendBytesField(body, 3, []byte(key))
		}
		for _, key := range reference.DescriptionKeys().All() {
			body = appendBytesField(body, 4, []byte(key))
		}
		out = appendBytesField(out, 3, body)
	}
	return out
}
