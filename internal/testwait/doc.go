// Package testwait waits in tests for states that nothing announces: of another
// process, or behind an interface without events. It owns the one loop that looks
// again and again, and imports the standard library alone. What announces itself
// is waited for there, and rules about time run under testing/synctest.
package testwait
