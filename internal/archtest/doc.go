// Package archtest tests the architecture: the imports of each package, the files
// that may open connections or decode loosely, the homes of operations and their
// audit entries, the wiring of the server, the tests that sleep, the licenses of
// all dependencies, and that the threat table and the protocol tables name existing
// tests. It contains no other code.
package archtest
