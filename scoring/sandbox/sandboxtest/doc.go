// Package sandboxtest runs scripts in the process of a test, without the
// worker processes of internal/script: what they return is the same.
package sandboxtest
