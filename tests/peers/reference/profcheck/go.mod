// SPDX-License-Identifier: Apache-2.0

module github.com/open-telemetry/sig-profiling/profcheck

go 1.25.0
