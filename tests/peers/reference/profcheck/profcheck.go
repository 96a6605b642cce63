// SPDX-License-Identifier: Apache-2.0

// Package profcheck stands in for a package that only tests of the profiler import, so that
// `go mod tidy` finds it.
package profcheck
