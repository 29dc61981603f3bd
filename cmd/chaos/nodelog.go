package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"iter"
	"os"
	"time"
)

// logLine is what the checker reads of a line of a node's log.
type logLine struct {
	Time    time.Time `json:"time"`
	Level   string    `json:"level"`
	Message string    `json:"msg"`
	Error   string    `json:"error"`
	MatchID string    `json:"match_id"`
	Epoch   int64     `json:"epoch"`

	OverdueMS int64 `json:"overdue_ms"`
	raw       string
}

// logLines reads a node's log as far as it is written. Lines that are not
// JSON, such as a stack, have only their raw text.
func logLines(path string) iter.Seq[logLine] {
	return func(yield func(logLine) bool) {
		data, err := os.ReadFile(path) //nolint:gosec // G304: our own log
		if err != nil {
			return
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			l := logLine{}
			if json.Unmarshal(lines.Bytes(), &l) != nil {
				l = logLine{}
			}
			l.raw = lines.Text()
			if !yield(l) {
				return
			}
		}
	}
}
