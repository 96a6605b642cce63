// SPDX-License-Identifier: Apache-2.0

// Package semconvtest stands in for a package that only tests of the Collector's components
// import, so that `go mod tidy` finds it.
package semconvtest
