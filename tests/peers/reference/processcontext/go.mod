// SPDX-License-Identifier: Apache-2.0

module go.opentelemetry.io/proto/otlp/processcontext/v1development

go 1.25.0

require (
	go.opentelemetry.io/proto/otlp v1.11.0
	google.golang.org/protobuf v1.36.12
)
