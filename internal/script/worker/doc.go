// Package worker is the inside of a script worker: the process in which
// untrusted JavaScript runs.
//
// It owns the restrictions that the process puts on itself before it reads its
// first request, and the loop that runs requests in scoring/sandbox. On Linux a
// worker has no capabilities; it can open no files and no sockets, start no programs
// and no processes, signal none but itself, and gain no privileges; its processor
// time is limited. Other systems rely on the parent, which watches memory and time
// everywhere (internal/script).
//
// Only a hidden command of cmd/arena runs it: no other process runs untrusted
// code.
package worker
