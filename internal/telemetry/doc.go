// Package telemetry exports the traces of matches and the metrics of a node to an
// OpenTelemetry collector, by OTLP over HTTP.
//
// A match is a trace: its ids follow from the ids of match and agent alone, so
// that every node that plays a part of a match adds to the same trace, and an
// agent's own spans join it by the traceparent header of its tasks (W3C Trace
// Context) before the arena has exported anything.
//
// An exporter never slows a match: spans wait in a bounded queue, and those that do
// not fit are dropped.
//
// It is an adapter: the only package that imports OpenTelemetry, of which it uses the
// generated messages alone. The SDK would have nothing to do, since the ids of spans
// are given and metrics come from Prometheus, and its exporters link grpc.
package telemetry
