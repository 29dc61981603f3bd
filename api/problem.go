package api

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/agora-arena/arena/arena"
)

const problemType = "application/problem+json"

// needsToken is the one answer to every missing or bad token (threat A4).
const needsToken = "missing or invalid token: send Authorization: Bearer <token>"

// problem is an RFC 9457 problem document. It is the body of every answer
// that is not a success.
type problem struct {
	Type   string             `json:"type" doc:"Always about:blank: see code." example:"about:blank"`
	Title  string             `json:"title" doc:"The name of the HTTP status." example:"Unprocessable Entity"`
	Status int                `json:"status" doc:"The HTTP status." example:"422"`
	Detail string             `json:"detail" doc:"One sentence for a person."`
	Code   arena.Code         `json:"code" doc:"The stable word for this kind of failure." example:"invalid"`
	Errors []arena.FieldError `json:"errors,omitempty" doc:"The faults, by place."`

	headers http.Header
}

// Error is the detail, for logs.
func (p *problem) Error() string { return p.Detail }

// GetStatus makes problem a huma.StatusError.
func (p *problem) GetStatus() int { return p.Status }

// GetHeaders makes problem a huma.HeadersError.
func (p *problem) GetHeaders() http.Header { return p.headers }

// ContentType makes problem a huma.ContentTypeFilter.
func (p *problem) ContentType(string) string { return problemType }

// statusOf maps each code to its HTTP status. Codes that are not here never
// reach a client: they are shown as internal.
func statusOf(code arena.Code) (status int, known bool) {
	switch code {
	case arena.CodeMalformed:
		return http.StatusBadRequest, true
	case arena.CodeUnauthorized:
		return http.StatusUnauthorized, true
	case arena.CodeForbidden:
		return http.StatusForbidden, true
	case arena.CodeNotFound:
		return http.StatusNotFound, true
	case arena.CodeNoMethod:
		return http.StatusMethodNotAllowed, true
	case arena.CodeConflict, arena.CodeNameTaken, arena.CodeSignupClosed, arena.CodeHasEndpoint, arena.CodeTaskNotFound, arena.CodeAnswerLate, arena.CodeAnswerRepeated,
		arena.CodeInvitationUsed, arena.CodeInvitationExpired, arena.CodeInvitationRevoked:
		return http.StatusConflict, true
	case arena.CodeTooLarge:
		return http.StatusRequestEntityTooLarge, true
	case arena.CodeUnsupported:
		return http.StatusUnsupportedMediaType, true
	case arena.CodeInvalid, arena.CodeEndpointInvalid, arena.CodeEndpointBlocked,
		arena.CodeEndpointOwn, arena.CodeAgentNotReady, arena.CodePackInvalid:
		return http.StatusUnprocessableEntity, true
	case arena.CodeRateLimited:
		return http.StatusTooManyRequests, true
	case arena.CodeUnavailable:
		return http.StatusServiceUnavailable, true
	case arena.CodeEventRefused, arena.CodeForgedIdentity, arena.CodeRoundClosed, arena.CodeLeaseLost, arena.CodeInternal:
		return http.StatusInternalServerError, false
	}
	return http.StatusInternalServerError, false
}

// codeOf is the code of an answer that Huma itself made.
func codeOf(status int) arena.Code {
	switch status {
	case http.StatusUnprocessableEntity:
		return arena.CodeInvalid
	case http.StatusNotFound:
		return arena.CodeNotFound
	case http.StatusRequestEntityTooLarge:
		return arena.CodeTooLarge
	case http.StatusUnsupportedMediaType:
		return arena.CodeUnsupported
	case http.StatusServiceUnavailable:
		return arena.CodeUnavailable
	}
	if status < http.StatusInternalServerError {
		return arena.CodeMalformed
	}
	return arena.CodeInternal
}

// problemOf is the one place that turns an error into what a client sees. An
// error without a code is logged in full and shown as internal.
func (a *API) problemOf(ctx context.Context, err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	if e, ok := errors.AsType[*arena.Error](err); ok {
		if status, known := statusOf(e.Code); known {
			if status >= http.StatusInternalServerError {
				a.log.WarnContext(ctx, "request failed", "request_id", requestID(ctx), "error", err)
			}
			p = newProblem(status, e.Code, e.Message)
			if status == http.StatusUnauthorized {
				p.Detail = needsToken
			}
			p.Errors = e.Fields
			if e.RetryAfter > 0 {
				p.headers.Set("Retry-After", strconv.Itoa(e.RetrySeconds()))
			}
			return p.withHints()
		}
	} else if ctx.Err() != nil {
		// The client has gone, or the time for a request is over.
		a.log.DebugContext(ctx, "request ended early", "request_id", requestID(ctx), "error", err)
		return newProblem(http.StatusServiceUnavailable, arena.CodeUnavailable, "the request took too long").withHints()
	}
	return a.internal(ctx, err)
}

// internal logs a fault of ours in full and shows only where to find it.
func (a *API) internal(ctx context.Context, err error) *problem {
	a.log.ErrorContext(ctx, "request failed", "request_id", requestID(ctx), "error", err)
	return newProblem(http.StatusInternalServerError, arena.CodeInternal,
		"something went wrong on our side; the request id "+requestID(ctx)+" finds it in the log")
}

func newProblem(status int, code arena.Code, detail string) *problem {
	return &problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code,
		headers: http.Header{},
	}
}

// withHints adds the headers that match the status.
func (p *problem) withHints() *problem {
	switch p.Status {
	case http.StatusServiceUnavailable:
		p.headers.Set("Retry-After", "1")
	case http.StatusUnauthorized:
		p.headers.Set("WWW-Authenticate", `Bearer realm="arena"`)
	}
	return p
}

// fail ends a request with a problem outside Huma's handlers.
func (a *API) fail(c *gin.Context, err error) {
	c.Abort()
	if c.Writer.Written() {
		return
	}
	p := a.problemOf(c.Request.Context(), err)
	maps.Copy(c.Writer.Header(), p.headers)
	c.Header("Content-Type", problemType)
	c.Status(p.Status)
	if err := writeJSON(c.Writer, p); err != nil {
		a.log.DebugContext(c.Request.Context(), "problem not sent", "error", err)
	}
}

// toProblem is a huma.Transformer. It gives the errors that Huma makes by
// itself the shape of problem: our code, fields without their place in the
// request, and no echo of what was sent.
func toProblem(ctx huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := newProblem(m.Status, codeOf(m.Status), m.Detail)
	switch p.Code {
	case arena.CodeInvalid:
		p.Detail = "validation failed"
	case arena.CodeMalformed:
		p.Detail = "the request cannot be read: " + m.Detail
	default:
	}
	for _, d := range m.Errors {
		if d != nil {
			p.Errors = append(p.Errors, fieldError(d))
		}
	}
	// Huma finds unexpected members in the random order of a map.
	slices.SortStableFunc(p.Errors, func(a, b arena.FieldError) int { return strings.Compare(a.Field, b.Field) })
	if p.Code == arena.CodeMalformed && len(p.Errors) == 1 {
		p.Detail = "the request cannot be read: " + p.Errors[0].Message
	}
	ctx.SetHeader("Content-Type", problemType) // whatever the client accepts
	return p, nil
}

// fieldError puts Huma's words into ours: "body.name" is the field "name",
// and a missing member is named by its field.
func fieldError(d *huma.ErrorDetail) arena.FieldError {
	field := d.Location
	for _, in := range []string{"body.", "query.", "path.", "header."} {
		if rest, ok := strings.CutPrefix(field, in); ok {
			field = rest
			break
		}
	}
	message := d.Message
	if rest, ok := strings.CutPrefix(message, "expected required property "); ok {
		name := strings.TrimSuffix(rest, " to be present")
		if field == "" || field == "body" {
			field = name
		} else {
			field += "." + name
		}
		message = "is required"
	}
	return arena.FieldError{Field: field, Message: message}
}
