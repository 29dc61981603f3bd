// Package apiclient calls the API of an arena as any program outside would. The
// command line, the benchmarks and the end-to-end tests use it.
package apiclient
