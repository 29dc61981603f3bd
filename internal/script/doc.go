// Package script runs untrusted JavaScript in child processes: the answers of
// leagues with the judge code, and games in JavaScript.
//
// It owns the pool of worker processes of a node: how many there are, when one
// starts and is replaced, what a script may use, and whose fault the death of
// a worker is. The pool is the node's bound on judging: scripts beyond it wait in
// queues, one for each owner group (queue.go). Workers have a
// lower priority than the node.
// It leaves interpreting and the restrictions inside the process to
// internal/script/worker, and the meaning of results to the callers.
//
// A script ends in one of three ways:
//
//   - Its calls return results or errors. Counted steps decide which, so they
//     are the same on every machine.
//   - It uses more memory or processor time than a worker has, or kills its
//     worker twice: arena.ErrScriptLimit. The parent watches the process, because
//     the interpreter cannot be interrupted inside its parser or a native call.
//   - Its context ends, no worker can be started, or the machine does not run its
//     worker, three times: any other error. The script may be run again.
//
// A worker has an empty environment and an empty working folder. It dies with
// the process that started it (Linux).
package script
