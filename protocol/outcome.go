package protocol

import (
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// Verdict is a line of the outcome table (docs/rules.md, section 3).
type Verdict struct {
	Outcome   arena.Outcome
	Reason    string // stable word, "" when answered
	Detail    string // a sentence for the owner
	Unreached bool   // no connection was made
	Retry     bool   // the table allows one more attempt
}

// Judge returns the outcome of an exchange that cannot carry an answer, by its
// failure, status and content type. It leaves undecided one that came whole,
// with status 200 and as JSON: its body decides, in the words of its
func Judge(x Exchange) (v Verdict, decided bool) {
	if v, decided := failed(x.Failure); decided {
		return v, true
	}
	if v, decided := byStatus(x.Status); decided {
		return v, true
	}
	if reason, detail := Unreadable(x); reason != "" {
		return Verdict{Outcome: arena.OutcomeInvalid, Reason: reason, Detail: detail}, true
	}
	return Verdict{}, false
}

// failed decides by the failure alone. It does not decide on a body that is cut or
// too large, for which the status may still decide.
func failed(f Failure) (Verdict, bool) {
	v := Verdict{Reason: string(f), Detail: explain(f)}
	switch f {
	case FailCancelled:
		v.Outcome = arena.OutcomeVoid
	case FailBlocked, FailDNS, FailRefused, FailUnreachable, FailConnect, FailTLS:
		v.Outcome, v.Unreached, v.Retry = arena.OutcomeError, true, true
	case FailBusy:
		v.Outcome, v.Unreached = arena.OutcomeError, true
	case FailDropped:
		v.Outcome, v.Retry = arena.OutcomeError, true
	case FailTimeout, FailLate:
		v.Outcome = arena.OutcomeTimeout
	case FailHTTP, FailHeaders:
		v.Outcome = arena.OutcomeInvalid
	case "", FailTruncated, FailTooLarge:
		return Verdict{}, false
	}
	return v, true
}

// byStatus decides by the statuses of AAP, "Error codes", and those that the
// docs/rules.md adds.
func byStatus(status int) (Verdict, bool) {
	v := Verdict{Reason: fmt.Sprintf("status_%d", status), Detail: fmt.Sprintf("the agent answered with status %d", status)}
	switch status {
	case http.StatusRequestTimeout:
		v.Outcome = arena.OutcomeTimeout
	case http.StatusTooManyRequests:
		v.Outcome = arena.OutcomeRateLimited
	case http.StatusServiceUnavailable:
		v.Outcome = arena.OutcomeUnavailable
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		v.Outcome, v.Retry = arena.OutcomeError, true
	default:
		return Verdict{}, false
	}
	return v, true
}

// Unreadable returns why the reply cannot carry JSON at all, with an empty reason
// when it can. Task replies and health checks share it.
func Unreadable(x Exchange) (reason, detail string) {
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
	case !plainEncoding(x.Encoding):
		return "bad_encoding", Sentence(fmt.Sprintf("Content-Encoding is %q, but only plain bodies are read", x.Encoding))
	case !x.Streamed && !isJSON(x.ContentType):
		return "bad_content_type", Sentence(fmt.Sprintf("Content-Type is %q, not application/json", x.ContentType))
	}
	return "", ""
}

// plainEncoding reports whether a Content-Encoding means no encoding.
func plainEncoding(encoding string) bool {
	return encoding == "" || strings.EqualFold(encoding, "identity")
}

// isEventStream reports whether a Content-Type means server-sent events.
func isEventStream(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "text/event-stream"
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

// explain returns the sentence for a failure.
func explain(f Failure) string {
	switch f {
	case "":
		return ""
	case FailCancelled:
		return "the arena ended the request"
	case FailBlocked:
		return "the endpoint's address is one that the arena does not call"
	case FailDNS:
		return "the endpoint's name could not be resolved"
	case FailRefused:
		return "the endpoint refused the connection"
	case FailUnreachable:
		return "no connection to the endpoint could be made"
	case FailConnect:
		return "no connection to the endpoint was made in time"
	case FailTLS:
		return "TLS failed: the certificate must be valid for the endpoint's host and come from a public authority"
	case FailBusy:
		return "the arena has called this address too often without reaching an agent; it calls it again later"
	case FailDropped:
		return "the endpoint closed the connection without a reply"
	case FailTimeout:
		return "no complete reply came within the time limit"
	case FailLate:
		return "the reply came after the time limit"
	case FailHTTP:
		return "the reply is not HTTP"
	case FailHeaders:
		return fmt.Sprintf("the head of the reply is over %d KiB", MaxHeader>>10)
	case FailTruncated:
		return "the reply ended before it was complete"
	case FailTooLarge:
		return "the body of the reply is too large"
	}
	return string(f)
}

// Sentence bounds a text that holds bytes of the agent's own.
func Sentence(s string) string {
	const most = 300
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
