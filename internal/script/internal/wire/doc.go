// Package wire frames the messages between the script pool and its worker
// processes: a length of four bytes, big-endian, and a JSON document.
//
// It owns the format and its bounds. internal/script writes requests and reads
// replies; internal/script/worker does the opposite. Both sides reject a frame
// that is longer than its bound before they allocate memory for it.
package wire
