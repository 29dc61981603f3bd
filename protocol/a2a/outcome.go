package a2a

import (
	"errors"
	"fmt"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/task"
)

func invalid(reason string, err error) (protocol.Verdict, *arena.AnswerBody) {
	return protocol.Verdict{Outcome: arena.OutcomeInvalid, Reason: reason, Detail: protocol.Sentence(err.Error())}, nil
}

// The codes of JSON-RPC and of A2A that have an outcome of their own.
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeUnsupported        = -32004
	codeContentType        = -32005
	codeExtensionRequired  = -32008
	codeVersionUnsupported = -32009
)

// byCode is the outcome of an error of JSON-RPC.
func byCode(e *rpcError) protocol.Verdict {
	v := protocol.Verdict{
		Outcome: arena.OutcomeError, Reason: "a2a_error",
		Detail: protocol.Sentence(fmt.Sprintf("the agent answered with error %d: %s", e.Code, e.Message)),
	}
	switch e.Code {
	case codeParse, codeInvalidRequest, codeMethodNotFound, codeInvalidParams, codeUnsupported, codeContentType:
		v.Reason = "a2a_refused" // the same message would be refused again
	case codeExtensionRequired, codeVersionUnsupported:
		v.Outcome, v.Reason = arena.OutcomeUnavailable, "a2a_unsupported"
	default:
		v.Retry = true
	}
	return v
}

// verdict is the outcome of a message, or of a task that is over.
func (p *progress) verdict(outputFormat string) (protocol.Verdict, *arena.AnswerBody) {
	if p.message != nil {
		return readAnswer([][]part{p.message.Parts}, outputFormat)
	}
	v := protocol.Verdict{Outcome: arena.OutcomeError, Retry: true}
	switch p.state {
	case stateCompleted:
		var found [][]part
		for _, a := range slices.Backward(p.artifacts) {
			found = append(found, a.Parts)
		}
		if p.note != nil {
			found = append(found, p.note.Parts)
		}
		return readAnswer(found, outputFormat)
	case stateFailed:
		v.Reason = "a2a_failed"
	case stateCanceled:
		v.Reason = "a2a_canceled"
	case stateRejected:
		v.Outcome, v.Reason, v.Retry = arena.OutcomeUnavailable, "a2a_rejected", false
	case stateInputRequired, stateAuthRequired:
		v.Outcome, v.Reason, v.Retry = arena.OutcomeInvalid, "a2a_waiting", false
	default:
		v.Outcome, v.Reason, v.Retry = arena.OutcomeInvalid, "a2a_state", false
	}
	v.Detail = fmt.Sprintf("the state of the task is %.64q", p.state)
	if p.note != nil {
		for _, text := range texts(p.note.Parts) {
			v.Detail += ": " + text
		}
	}
	v.Detail = protocol.Sentence(v.Detail)
	return v, nil
}

// readAnswer reads the answer in parts: the last data part with the member answer
// in the first list that has one, else the last text of the first list that has
// one. A text that is JSON with the member answer counts as data.
func readAnswer(found [][]part, outputFormat string) (protocol.Verdict, *arena.AnswerBody) {
	for _, parts := range found {
		for _, p := range slices.Backward(parts) {
			if len(p.Data) == 0 {
				continue
			}
			answer, note, err := decodeAnswer(p.Data, outputFormat)
			if errors.Is(err, task.ErrNoAnswer) {
				continue // data of another kind
			}
			return judged(answer, note, err)
		}
	}
	for _, parts := range found {
		for _, text := range slices.Backward(texts(parts)) {
			if text == "" {
				continue
			}
			answer, note, err := decodeAnswer([]byte(text), outputFormat)
			if err != nil && !errors.Is(err, task.ErrBadAnswer) && !errors.Is(err, errAnswer) {
				answer, err = &arena.AnswerBody{Answer: text}, nil // plain words
			}
			return judged(answer, note, err)
		}
	}
	return invalid("empty_answer", errors.New("no part of the reply holds an answer: send a data part with the member answer, or text"))
}

var errAnswer = errors.New("an answer has at most 64 KiB")

func decodeAnswer(data []byte, outputFormat string) (answer *arena.AnswerBody, note string, err error) {
	if len(data) > protocol.MaxBody {
		return nil, "", errAnswer
	}
	return task.DecodeAnswer(data, outputFormat)
}

func judged(answer *arena.AnswerBody, note string, err error) (protocol.Verdict, *arena.AnswerBody) {
	switch {
	case errors.Is(err, errAnswer):
		return invalid("too_large", err)
	case errors.Is(err, task.ErrBadAnswer):
		return invalid("bad_answer", err)
	case err != nil:
		return invalid("bad_json", err)
	}
	return protocol.Verdict{Outcome: arena.OutcomeAnswered, Detail: note}, answer
}
