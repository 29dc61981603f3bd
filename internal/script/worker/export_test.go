package worker

// SystemCalls is the filter of system calls.
var SystemCalls = systemCalls

// Restrict is what Serve does before it reads anything.
var Restrict = restrict
