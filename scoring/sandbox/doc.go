// Package sandbox runs JavaScript of strangers inside the arena's process, on
// goja, and is the only room that knows it (rulebook, section 6: the judge
// code).
//
// An interpreter that shares the process must never be handed more than it
// can stop. goja can be interrupted between two instructions, but not within
// one, and it counts neither steps nor memory. So nothing native is left
// within reach of an answer:
//
//   - meter.go rewrites the parsed source. Every function, loop and catch
//     clause first pays for what it is about to do, in steps and in bytes;
//     strings that grow and array elements far out are paid where they arise.
//   - library is the standard library that answers see. It is metered by
//     the same rewriting; it calls natives only with arguments whose cost it
//     has paid. What it does not name does not exist: eval, Function, Proxy,
//     Reflect, Promise, typed arrays, BigInt, timers, modules.
//   - Regular expressions are run by Go's RE2; look-around and back-references
//     are refused.
//
// The same source with the same arguments takes the same number of steps on
// every machine and on every day: the clock stands, randomness has a fixed
// seed, there is no time zone. The wall clock only ends what should not
// happen, long after any permitted number of steps.
//
// It leaves the comparison of results to scoring, the only room that may
// import it. It imports the standard library and goja.
package sandbox
