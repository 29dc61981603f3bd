package a2a

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The states of a task.
const (
	stateSubmitted     = "submitted"
	stateWorking       = "working"
	stateCompleted     = "completed"
	stateFailed        = "failed"
	stateCanceled      = "canceled"
	stateRejected      = "rejected"
	stateInputRequired = "input-required"
	stateAuthRequired  = "auth-required"
)

// progress is what an agent has made of a message so far.
type progress struct {
	message   *message // the agent answered with a message
	taskID    string
	state     string
	note      *message // with the state
	artifacts []artifact
}

// over reports whether nothing more will come.
func (p *progress) over() bool {
	return p.message != nil || p.state != "" && p.state != stateSubmitted && p.state != stateWorking
}

// apply adds an update.
func (p *progress) apply(u update) error {
	switch {
	case u.Message != nil:
		p.message = u.Message
		return nil
	case u.Task != nil:
		p.artifacts = u.Task.Artifacts
		return p.enter(u.Task.ID, &u.Task.Status)
	case u.StatusUpdate != nil:
		return p.enter(u.StatusUpdate.TaskID, &u.StatusUpdate.Status)
	default:
		p.add(u.ArtifactUpdate)
		return p.enter(u.ArtifactUpdate.TaskID, nil)
	}
}

// enter notes the state of a task.
func (p *progress) enter(id string, status *taskStatus) error {
	if p.taskID != "" && p.taskID != id {
		return fmt.Errorf("the reply is about task %.64q, not %.64q", id, p.taskID)
	}
	p.taskID = id
	if status == nil {
		return nil
	}
	if p.state = status.state(); p.state == "" {
		return errors.New("the task has no state")
	}
	p.note = status.Message
	return nil
}

// add puts an artifact beside the others, in the place of an earlier one with
// its id, or behind the parts of that one.
func (p *progress) add(u *artifactUpdate) {
	for i := range p.artifacts {
		known := &p.artifacts[i]
		if known.ID != u.Artifact.ID {
			continue
		}
		if !u.Append {
			known.Parts = u.Artifact.Parts
			return
		}
		for _, next := range u.Artifact.Parts {
			next.continues = true
			known.Parts = append(known.Parts, next)
		}
		return
	}
	p.artifacts = append(p.artifacts, u.Artifact)
}

// texts returns the texts of parts. Texts that a stream appended to others are
// one with them.
func texts(parts []part) []string {
	var runs [][]string
	after := false
	for _, p := range parts {
		switch n := len(runs); {
		case p.Text == nil:
		case p.continues && after:
			runs[n-1] = append(runs[n-1], *p.Text)
		default:
			runs = append(runs, []string{*p.Text})
		}
		after = p.Text != nil
	}
	joined := make([]string, len(runs))
	for i, run := range runs {
		joined[i] = strings.TrimSpace(strings.Join(run, ""))
	}
	return joined
}

// maxEvent is the most that one event of a stream may have, in bytes.
const maxEvent = maxReply

var errEvent = errors.New("an event of the stream is over 256 KiB")

// readStream calls event with the data of each server-sent event until it returns
// false or the body ends. It returns the error of a failed read, or errEvent.
func readStream(body io.Reader, event func(data []byte) (more bool)) error {
	lines := bufio.NewReaderSize(body, 4<<10)
	var data []byte
	for {
		line, err := readLine(lines, maxEvent-len(data))
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil // an event without its blank line does not count
			}
			return err
		}
		if len(line) == 0 {
			if len(data) > 0 && !event(data) {
				return nil
			}
			data = data[:0]
			continue
		}
		value, isData := bytes.CutPrefix(line, []byte("data:"))
		if !isData {
			continue
		}
		if len(data) > 0 {
			data = append(data, '\n')
		}
		data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
	}
}

// readLine reads a line of limited length, without its end.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		if len(line)+len(piece) > most+len("data: \r\n") {
			return nil, errEvent
		}
		line = append(line, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err
		default:
			return bytes.TrimRight(line, "\r\n"), nil
		}
	}
}
