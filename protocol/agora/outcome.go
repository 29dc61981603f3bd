package agora

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/task"
)

func invalid(reason string, err error) protocol.Verdict {
	return protocol.Verdict{Outcome: arena.OutcomeInvalid, Reason: reason, Detail: protocol.Sentence(err.Error())}
}

func needsTLS() protocol.Verdict {
	return protocol.Verdict{
		Outcome: arena.OutcomeError, Reason: "https_required", Unreached: true,
		Detail: "two-party Agora asks for https:// beyond this machine",
	}
}

// refused is the outcome of a failure that no other message can get around.
func refused(a answered) protocol.Verdict {
	detail := protocol.Sentence("the agent answered with a failure: " + a.reason())
	if a.unsupported() { // not even plain words
		return protocol.Verdict{Outcome: arena.OutcomeUnavailable, Reason: "unsupported_protocol", Detail: detail}
	}
	return protocol.Verdict{Outcome: arena.OutcomeError, Reason: "agora_failure", Detail: detail, Retry: true}
}

// byCode is the outcome of an error inside the document's own reply (standard,
// section 10.3).
func byCode(code string) protocol.Verdict {
	v := protocol.Verdict{Reason: "agora_error", Detail: protocol.Sentence(fmt.Sprintf("the agent answered with the error %q", code))}
	switch strings.ToUpper(code) {
	case "TIMEOUT":
		v.Outcome, v.Reason = arena.OutcomeTimeout, "agora_timeout"
	case "RATE_LIMITED":
		v.Outcome, v.Reason = arena.OutcomeRateLimited, "agora_rate_limited"
	case "UNAVAILABLE":
		v.Outcome, v.Reason = arena.OutcomeUnavailable, "agora_unavailable"
	default:
		v.Outcome, v.Retry = arena.OutcomeError, true
	}
	return v
}

// readAnswer reads the body of a good reply. In plain words an answer need not
// be JSON: then the words are the answer.
func readAnswer(body string, plain bool, outputFormat string) (protocol.Verdict, *arena.AnswerBody) {
	answer, note, err := task.DecodeAnswer([]byte(body), outputFormat)
	if err == nil {
		return protocol.Verdict{Outcome: arena.OutcomeAnswered, Detail: note}, answer
	}
	var said struct {
		Error *string `json:"error"`
	}
	words := strings.TrimSpace(body)
	switch {
	case errors.Is(err, task.ErrNoAnswer) && strictjson.UnmarshalOpen([]byte(body), &said, "error") == nil && said.Error != nil:
		return byCode(*said.Error), nil
	case plain && words != "" && !strings.HasPrefix(words, "{"):
		return protocol.Verdict{Outcome: arena.OutcomeAnswered}, &arena.AnswerBody{Answer: words}
	case errors.Is(err, task.ErrNoAnswer) || words == "":
		return invalid("empty_answer", err), nil
	case errors.Is(err, task.ErrBadAnswer):
		return invalid("bad_answer", err), nil
	default:
		return invalid("bad_json", err), nil
	}
}

// inWords returns a task as text for agents that do not know the document: the
// question first, then the JSON.
func inWords(a arena.Attempt, taskJSON string) string {
	return task.Words(a) + fmt.Sprintf("\nReply within %g seconds with the answer alone, or with JSON: {\"answer\": \"...\", \"confidence\": 0.9, \"reasoning\": \"...\"}.\n\n"+
		"The task as JSON:\n%s", a.TimeLimit.Seconds(), taskJSON)
}
