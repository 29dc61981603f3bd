package aap

import (
	"errors"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/task"
)

// classify is the outcome table (docs/rules.md, section 3) as one total function:
// every failure, status, content type and body has exactly one outcome. The
// answer is nil unless the outcome is answered.
func classify(x protocol.Exchange, outputFormat string) (protocol.Verdict, *arena.AnswerBody) {
	if v, decided := protocol.Judge(x); decided {
		return v, nil
	}
	answer, note, err := task.DecodeAnswer(x.Body, outputFormat)
	if err != nil {
		reason := "bad_json"
		switch {
		case errors.Is(err, task.ErrNoAnswer):
			reason = "empty_answer"
		case errors.Is(err, task.ErrBadAnswer):
			reason = "bad_answer"
		}
		return protocol.Verdict{Outcome: arena.OutcomeInvalid, Reason: reason, Detail: protocol.Sentence(err.Error())}, nil
	}
	return protocol.Verdict{Outcome: arena.OutcomeAnswered, Detail: note}, answer
}
