// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// A table index that points beyond its table. Thrown by the dictionary, caught by eachSample.
type badIndex struct {
	table string
	index int32
	size  int
}

func (b badIndex) Error() string {
	return fmt.Sprintf("%s index %d of a table of %d", b.table, b.index, b.size)
}

// Access to the tables of one request, every index checked.
type dictionary struct {
	pprofile.ProfilesDictionary
}

func check(table string, index int32, size int) int {
	if index < 0 || int(index) >= size {
		panic(badIndex{table, index, size})
	}
	return int(index)
}

func (d dictionary) text(index int32) string {
	if index == 0 && d.StringTable().Len() == 0 {
		return ""
	}
	return d.StringTable().At(check("string", index, d.StringTable().Len()))
}

func (d dictionary) function(index int32) pprofile.Function {
	return d.FunctionTable().At(check("function", index, d.FunctionTable().Len()))
}

func (d dictionary) mapping(index int32) pprofile.Mapping {
	return d.MappingTable().At(check("mapping", index, d.MappingTable().Len()))
}

func (d dictionary) location(index int32) pprofile.Location {
	return d.LocationTable().At(check("location", index, d.LocationTable().Len()))
}

func (d dictionary) stack(index int32) pprofile.Stack {
	return d.StackTable().At(check("stack", index, d.StackTable().Len()))
}

func (d dictionary) link(index int32) pprofile.Link {
	return d.LinkTable().At(check("link", index, d.LinkTable().Len()))
}

func (d dictionary) attribute(index int32) pprofile.KeyValueAndUnit {
	return d.AttributeTable().At(check("attribute", index, d.AttributeTable().Len()))
}

// attributeText is the string that the attribute `key` has; empty without.
func (d dictionary) attributeText(indices pcommon.Int32Slice, key string) string {
	for _, index := range indices.All() {
		attribute := d.attribute(index)
		if d.text(attribute.KeyStrindex()) == key {
			return attribute.Value().AsString()
		}
	}
	return ""
}

// name is that of the function an address lies in; empty when the profile does not say.
func (d dictionary) name(location pprofile.Location) string {
	lines := location.Lines()
	if lines.Len() == 0 {
		return ""
	}
	// The last line is the function itself, those before it are inlined there.
	return d.text(d.function(lines.At(lines.Len() - 1).FunctionIndex()).NameStrindex())
}

func (d dictionary) file(mapping pprofile.Mapping) fileKey {
	return fileKey{
		name:    d.text(mapping.FilenameStrindex()),
		gnu:     d.attributeText(mapping.AttributeIndices(), "process.executable.build_id.gnu"),
		htlhash: d.attributeText(mapping.AttributeIndices(), "process.executable.build_id.htlhash"),
	}
}

// Where a sample stands.
type place struct {
	dictionary dictionary
	resource   pprofile.ResourceProfiles
	scope      pprofile.ScopeProfiles
	profile    pprofile.Profile
}

// eachSample calls `visit` for every sample of requests[at] in file order. The error says which
// index points beyond its table.
func eachSample(requests []request, at int, visit func(place, pprofile.Sample)) (err error) {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case badIndex:
			err = fmt.Errorf("request %d of %d: %w", at+1, len(requests), problem)
		default:
			panic(problem)
		}
	}()
	dictionary := dictionary{requests[at].profiles.Dictionary()}
	for _, resource := range requests[at].profiles.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				for _, sample := range profile.Samples().All() {
					visit(place{dictionary, resource, scope, profile}, sample)
				}
			}
		}
	}
	return nil
}
