// Package protocoltest is the other side of the wire, for tests: Agent, a fake
// agent on a real HTTP server that behaves as a test configures it and keeps a
// journal of its requests; Raw and Attacks, a TCP server that breaks HTTP
// in every way we know of; and RunDriverSuite, which every driver must pass.
package protocoltest
