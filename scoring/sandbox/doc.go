// Package sandbox runs untrusted JavaScript on goja and counts what it uses. It
// alone imports the interpreter (docs/rules.md, section 6: the judge code).
//
// Counted steps and bytes decide how a call ends, so that a verdict is the same
// on every machine. goja counts neither, and can be interrupted between two
// instructions but not within one. So no native function is within reach of an
// answer:
//
//   - meter.go rewrites the parsed source. Every function, loop and catch
//     clause first pays for what it is about to do, in steps and in bytes;
//     strings that grow and array elements far out are paid where they arise.
//     Operators that compare strings, or read them as numbers or keys, pay by
//     their length.
//   - library is the standard library that answers see. It is metered by
//     the same rewriting; it calls natives only with arguments whose cost it
//     has paid. What it does not name does not exist: eval, Function, Proxy,
//     Reflect, Promise, typed arrays, BigInt, timers, modules.
//   - Regular expressions are run by Go's RE2; look-around and back-references
//     are refused.
//
// The same source with the same arguments takes the same number of steps on
// every machine and on every day: the clock stands, randomness has a fixed
// seed, there is no time zone.
//
// Starting an interpreter takes longer than a move of most games. So a Game keeps
// its interpreter between calls, and all that calls could share is frozen.
//
// What the interpreter cannot count is left to the process around it
// (internal/script): the memory and time of its parser. Only
// internal/script/worker may import this package, so that no server process runs
// untrusted code.
package sandbox
