package arena

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Code is the stable identifier of a kind of failure. It is published as the
// code member of every problem document.
type Code string

// The codes. Each is mapped to one HTTP status, in api.
const (
	CodeInvalid         Code = "invalid"            // 422: a field breaks a rule
	CodeMalformed       Code = "malformed"          // 400: the request cannot be read at all
	CodeUnauthorized    Code = "unauthorized"       // 401: no token, or an invalid one
	CodeForbidden       Code = "forbidden"          // 403: a valid token without the required right
	CodeNotFound        Code = "not_found"          // 404
	CodeNoMethod        Code = "method_not_allowed" // 405: the path is known, the method is not
	CodeConflict        Code = "conflict"           // 409: the state does not allow it
	CodeNameTaken       Code = "name_taken"         // 409
	CodeSignupClosed    Code = "signup_closed"      // 409: the deadline for entries is over
	CodeHasEndpoint     Code = "agent_has_endpoint" // 409: the agent gets its tasks at its endpoint
	CodeTaskNotFound    Code = "task_not_found"     // 409: the agent has no such task now
	CodeAnswerLate      Code = "answer_late"        // 409: after the deadline
	CodeAnswerRepeated  Code = "answer_repeated"    // 409: the task has another answer
	CodeTooLarge        Code = "too_large"          // 413: body, pack or list over its limit
	CodeUnsupported     Code = "unsupported"        // 415: an unsupported content type or format
	CodeRateLimited     Code = "rate_limited"       // 429
	CodeEndpointInvalid Code = "endpoint_invalid"   // 422: not a usable http(s) URL
	CodeEndpointBlocked Code = "endpoint_blocked"   // 422: the arena does not connect to the address
	CodeEndpointOwn     Code = "endpoint_own"       // 422: the arena itself
	CodeAgentNotReady   Code = "agent_not_ready"    // 422: the agent cannot take a seat now
	CodePackInvalid     Code = "pack_invalid"       // 422: lines of a pack cannot be read
	CodeEventRefused    Code = "event_refused"      // stream: the event breaks a rule
	CodeRoundClosed     Code = "round_closed"       // stream: no round is open for this event
	CodeForgedIdentity  Code = "forged_identity"    // stream: the event names another match or agent than the token
	CodeLeaseLost       Code = "lease_lost"         // internal: another node owns the match now
	CodeUnavailable     Code = "unavailable"        // 503: storage or another part is unavailable
	CodeInternal        Code = "internal"           // 500: a fault of the arena

	CodeInvitationUsed    Code = "invitation_used"    // 409: as many people have joined with it as may
	CodeInvitationExpired Code = "invitation_expired" // 409
	CodeInvitationRevoked Code = "invitation_revoked" // 409
)

// Error is a failure that a caller may act on. Message is one sentence that may
// be shown to anyone; Err is the cause and is only logged.
type Error struct {
	Code    Code
	Message string
	Fields  []FieldError // errors by field, for CodeInvalid and similar codes
	Err     error

	// RetryAfter is when the caller may try again, for CodeRateLimited.
	RetryAfter time.Duration
}

// FieldError describes one invalid input: the path of the field ("judge.kind",
// "agents[1]", "line 17") and the error, with the limit.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (e *Error) Error() string {
	var s strings.Builder
	s.WriteString(e.Message)
	for _, f := range e.Fields {
		fmt.Fprintf(&s, "; %s: %s", f.Field, f.Message)
	}
	// Errorf already includes its cause in the message.
	if e.Err != nil && !strings.Contains(e.Message, e.Err.Error()) {
		s.WriteString(": " + e.Err.Error())
	}
	return s.String()
}

func (e *Error) Unwrap() error { return e.Err }

// RetrySeconds returns RetryAfter in whole seconds, rounded up, for the header
// Retry-After (RFC 9110, section 10.2.3).
func (e *Error) RetrySeconds() int { return int(math.Ceil(e.RetryAfter.Seconds())) }

// Is makes errors.Is(err, &Error{Code: c}) compare codes.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == "" && t.Err == nil
}

// Errorf returns an Error with a code and a message. The operand of a %w verb
// becomes the cause and its text becomes part of the message.
func Errorf(code Code, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: wrapped.Error(), Err: errors.Unwrap(wrapped)}
}

// Invalid returns a CodeInvalid error about one field.
func Invalid(field, format string, args ...any) *Error {
	return &Error{
		Code: CodeInvalid, Message: "validation failed",
		Fields: []FieldError{{Field: field, Message: fmt.Sprintf(format, args...)}},
	}
}

// AtField converts an error caused by the caller to a CodeInvalid error about
// one field. It returns other errors unchanged.
func AtField(field string, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	switch e.Code {
	case CodeEventRefused, CodeRoundClosed, CodeForgedIdentity, CodeLeaseLost, CodeUnavailable, CodeInternal:
		return err
	default:
		return Invalid(field, "%s", e.Message)
	}
}

// CodeOf returns the code of the first Error in err's chain, CodeInternal for
// any other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}
