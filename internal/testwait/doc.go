// Package testwait waits in tests for states that nothing announces: of another
// process, or behind an interface without events. It owns the one loop that polls.
// What announces itself is waited for there, and rules about time run under
// testing/synctest.
package testwait
