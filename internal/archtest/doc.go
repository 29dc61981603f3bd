// Package archtest holds the architecture as tests: which package may import
// what, how long a file may be, which files may open connections or decode
// loosely, the licenses of all dependencies, and that the threat table and the
// protocol tables name tests that exist. It contains no other code.
package archtest
