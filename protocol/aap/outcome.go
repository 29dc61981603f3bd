package aap

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// verdict is a line of the outcome table.
type verdict struct {
	outcome   arena.Outcome
	reason    string // stable word, "" when answered
	detail    string // a sentence for the owner
	unreached bool
	retry     bool
}

// classify is the outcome table (rulebook, section 3) as one total function:
// every failure, status, content type and body has exactly one outcome. The
// answer is nil unless the outcome is answered.
func classify(x protocol.Exchange, outputFormat string) (verdict, *arena.AnswerBody) {
	if v, decided := failed(x.Failure); decided {
		return v, nil
	}
	if v, decided := byStatus(x.Status); decided {
		return v, nil
	}
	if reason, detail := unreadable(x); reason != "" {
		return verdict{outcome: arena.OutcomeInvalid, reason: reason, detail: detail}, nil
	}
	answer, err := decodeReply(x.Body, outputFormat)
	if err != nil {
		reason := "bad_json"
		switch {
		case errors.Is(err, errNoAnswer):
			reason = "empty_answer"
		case errors.Is(err, errBadAnswer):
			reason = "bad_answer"
		}
		return verdict{outcome: arena.OutcomeInvalid, reason: reason, detail: sentence(err.Error())}, nil
	}
	return verdict{outcome: arena.OutcomeAnswered}, answer
}

// failed decides by the failure alone. It leaves undecided what came with a
// body that is cut or too large: there the status may still decide.
func failed(f protocol.Failure) (verdict, bool) {
	v := verdict{reason: string(f), detail: explain(f)}
	switch f {
	case protocol.FailCancelled:
		v.outcome = arena.OutcomeVoid
	case protocol.FailBlocked, protocol.FailDNS, protocol.FailRefused, protocol.FailUnreachable, protocol.FailConnect, protocol.FailTLS:
		v.outcome, v.unreached, v.retry = arena.OutcomeError, true, true
	case protocol.FailDropped:
		v.outcome, v.retry = arena.OutcomeError, true
	case protocol.FailTimeout, protocol.FailLate:
		v.outcome = arena.OutcomeTimeout
	case protocol.FailHTTP, protocol.FailHeaders:
		v.outcome = arena.OutcomeInvalid
	case "", protocol.FailTruncated, protocol.FailTooLarge:
		return verdict{}, false
	}
	return v, true
}

// byStatus decides by the statuses of AAP, "Error codes", and those that the
// rulebook adds.
func byStatus(status int) (verdict, bool) {
	v := verdict{reason: fmt.Sprintf("status_%d", status), detail: fmt.Sprintf("the endpoint answered with status %d", status)}
	switch status {
	case http.StatusRequestTimeout:
		v.outcome = arena.OutcomeTimeout
	case http.StatusTooManyRequests:
		v.outcome = arena.OutcomeRateLimited
	case http.StatusServiceUnavailable:
		v.outcome = arena.OutcomeUnavailable
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		v.outcome, v.retry = arena.OutcomeError, true
	default:
		return verdict{}, false
	}
	return v, true
}

// unreadable says why the reply cannot carry JSON at all, with an empty reason
// when it can. Task replies and health checks share it.
func unreadable(x protocol.Exchange) (reason, detail string) {
	switch {
	case x.Failure != "" && x.Status == 0:
		return string(x.Failure), explain(x.Failure)
	case x.Status == http.StatusSwitchingProtocols:
		return "switching_protocols", "the endpoint asked to switch protocols (status 101)"
	case x.Status >= 300 && x.Status <= 399:
		return "redirect", fmt.Sprintf("the endpoint answered with a redirect (status %d), which is never followed: register the final address", x.Status)
	case x.Status != http.StatusOK:
		return fmt.Sprintf("status_%d", x.Status), fmt.Sprintf("the endpoint answered with status %d; only 200 carries a reply", x.Status)
	case x.Failure != "":
		return string(x.Failure), explain(x.Failure)
	case x.Encoding != "":
		return "bad_encoding", sentence(fmt.Sprintf("Content-Encoding is %q, but only plain bodies are read", x.Encoding))
	case !isJSON(x.ContentType):
		return "bad_content_type", sentence(fmt.Sprintf("Content-Type is %q, not application/json", x.ContentType))
	}
	return "", ""
}

// isJSON accepts application/json alone or with charset=utf-8.
func isJSON(contentType string) bool {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" {
		return false
	}
	for name, value := range params {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return false
		}
	}
	return true
}

// explain gives the sentence for a failure.
func explain(f protocol.Failure) string {
	switch f {
	case "":
		return ""
	case protocol.FailCancelled:
		return "the arena ended the request"
	case protocol.FailBlocked:
		return "the endpoint's address is one that the arena does not call"
	case protocol.FailDNS:
		return "the endpoint's name could not be resolved"
	case protocol.FailRefused:
		return "the endpoint refused the connection"
	case protocol.FailUnreachable:
		return "no connection to the endpoint could be made"
	case protocol.FailConnect:
		return "no connection to the endpoint was made in time"
	case protocol.FailTLS:
		return "TLS failed: the certificate must be valid for the endpoint's host and come from a public authority"
	case protocol.FailDropped:
		return "the endpoint closed the connection without a reply"
	case protocol.FailTimeout:
		return "no complete reply came within the time limit"
	case protocol.FailLate:
		return "the reply came after the time limit"
	case protocol.FailHTTP:
		return "what came back is not an HTTP reply"
	case protocol.FailHeaders:
		return fmt.Sprintf("the head of the reply is over %d KiB", protocol.MaxHeader>>10)
	case protocol.FailTruncated:
		return "the reply ended before it was complete"
	case protocol.FailTooLarge:
		return "the body of the reply is too large"
	}
	return string(f)
}

// sentence bounds a text that holds bytes of the agent's own.
func sentence(s string) string {
	const most = 300
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
