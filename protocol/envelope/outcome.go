package envelope

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/task"
)

// judgeResult returns the outcome of a RESULT: its output is the reply of AAP.
// The answer is nil unless the outcome is answered.
func judgeResult(payload []byte, outputFormat string) (protocol.Verdict, *arena.AnswerBody) {
	var r Result
	if err := read(payload, &r); err != nil {
		return invalid("bad_json", err), nil
	}
	switch r.Status {
	case ResultSuccess, ResultPartial:
	case ResultFailed:
		return protocol.Verdict{Outcome: arena.OutcomeError, Reason: "result_failed", Detail: "the agent reports that it failed", Retry: true}, nil
	case ResultCancelled:
		return protocol.Verdict{Outcome: arena.OutcomeUnavailable, Reason: "result_cancelled", Detail: "the agent has cancelled"}, nil
	}
	answer, note, err := task.DecodeAnswer(r.Output, outputFormat)
	switch {
	case err == nil:
		if !isNull(r.Metrics) {
			answer.Metrics = r.Metrics
		}
		if !isNull(r.Artifacts) {
			answer.Artifacts = r.Artifacts
		}
		return protocol.Verdict{Outcome: arena.OutcomeAnswered, Detail: note}, answer
	case errors.Is(err, task.ErrNoAnswer):
		return invalid("empty_answer", err), nil
	case errors.Is(err, task.ErrBadAnswer):
		return invalid("bad_answer", err), nil
	}
	return invalid("bad_json", err), nil
}

func invalid(reason string, err error) protocol.Verdict {
	return protocol.Verdict{Outcome: arena.OutcomeInvalid, Reason: reason, Detail: protocol.Sentence(err.Error())}
}

// judgeError returns the outcome of an ERROR.
func judgeError(payload []byte) protocol.Verdict {
	var f Failure
	if err := read(payload, &f); err != nil {
		return invalid("bad_json", err)
	}
	v := protocol.Verdict{
		Outcome: arena.OutcomeError, Reason: "error_" + strings.ToLower(string(f.Code)),
		Detail: protocol.Sentence(fmt.Sprintf("the agent answered with the ERROR %s: %s", f.Code, f.Message)),
	}
	switch f.Code {
	case ErrTimeout:
		v.Outcome = arena.OutcomeTimeout
	case ErrRateLimited:
		v.Outcome = arena.OutcomeRateLimited
	case ErrUnavailable, ErrIntentNotSupported, ErrInsufficientBudget, ErrForbidden:
		v.Outcome = arena.OutcomeUnavailable
	case ErrInternal:
		v.Retry = true
	case ErrInvalidRequest:
	default:
		v.Reason = "error_unknown"
	}
	return v
}
