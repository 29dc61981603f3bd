package envelope

import (
	"encoding/json"
	"regexp"
	"time"

	"github.com/agora-arena/arena/internal/strictjson"
)

// Request is the payload of a REQUEST.
type Request struct {
	RequestID   string          `json:"request_id"`
	Intent      string          `json:"intent"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Params      json.RawMessage `json:"params,omitempty"`
	Constraints *Constraints    `json:"constraints,omitempty"`
}

// Constraints bound a request. Deadline is RFC 3339.
type Constraints struct {
	MaxCostUSD   *float64 `json:"max_cost_usd,omitempty"`
	MaxLatencyMS *float64 `json:"max_latency_ms,omitempty"`
	Deadline     string   `json:"deadline,omitempty"`
}

// The limits of an agent's reports about its work.
const (
	maxPlan      = 4 << 10  // bytes
	maxSeconds   = 86_400   // of eta_seconds
	maxMetrics   = 4 << 10  // bytes of JSON
	maxArtifacts = 16 << 10 // bytes of JSON
)

// Offer is the payload of an OFFER. Plan and price are shown, never charged.
type Offer struct {
	RequestID  string   `json:"request_id"`
	Plan       string   `json:"plan,omitempty"`
	Price      *Price   `json:"price,omitempty"`
	ETASeconds *float64 `json:"eta_seconds,omitempty"`
	ValidUntil string   `json:"valid_until,omitempty"` // RFC 3339
}

// Price is what an offer would cost.
type Price struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// Accept is the payload of an ACCEPT.
type Accept struct {
	RequestID  string `json:"request_id"`
	AcceptedAt string `json:"accepted_at,omitempty"` // RFC 3339
	Terms      *Terms `json:"terms,omitempty"`
}

// Terms are the terms that both sides agreed on: the OFFER's, and the deadline of
// the REQUEST. Deadline is RFC 3339.
type Terms struct {
	PriceUSD   float64  `json:"price_usd"`
	ETASeconds *float64 `json:"eta_seconds,omitempty"`
	Deadline   string   `json:"deadline,omitempty"`
}

// Result is the payload of a RESULT.
type Result struct {
	RequestID string          `json:"request_id"`
	Status    ResultStatus    `json:"status"`
	Output    json.RawMessage `json:"output,omitempty"`
	Artifacts json.RawMessage `json:"artifacts,omitempty"`
	Metrics   json.RawMessage `json:"metrics,omitempty"`
}

// ResultStatus is how a request ended.
type ResultStatus string

// The statuses.
const (
	ResultSuccess   ResultStatus = "success"
	ResultPartial   ResultStatus = "partial"
	ResultFailed    ResultStatus = "failed"
	ResultCancelled ResultStatus = "cancelled"
)

// Failure is the payload of an ERROR. It has no request_id of its own.
type Failure struct {
	Code    ErrorCode       `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details,omitempty"`
}

// ErrorCode is the code of an ERROR.
type ErrorCode string

// The codes ("Error Codes"); RATE_LIMITED is an extension.
const (
	ErrInvalidRequest     ErrorCode = "INVALID_REQUEST"
	ErrIntentNotSupported ErrorCode = "INTENT_NOT_SUPPORTED"
	ErrInsufficientBudget ErrorCode = "INSUFFICIENT_BUDGET"
	ErrTimeout            ErrorCode = "TIMEOUT"
	ErrUnavailable        ErrorCode = "UNAVAILABLE"
	ErrForbidden          ErrorCode = "FORBIDDEN"
	ErrInternal           ErrorCode = "INTERNAL_ERROR"
	ErrRateLimited        ErrorCode = "RATE_LIMITED"
)

// Facts are what the rules of threads and of the relay need of a payload.
type Facts struct {
	RequestID string    // of an ERROR: details.request_id
	Deadline  time.Time // REQUEST and ACCEPT; zero: none
	Until     time.Time // OFFER: valid_until; zero: no end
	Code      ErrorCode // ERROR
	Status    ResultStatus
}

var intentForm = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$`)

// Facts reads the payload by the envelope's type. Its error has the code malformed.
func (e *Envelope) Facts() (Facts, error) {
	var common struct {
		Encrypted json.RawMessage `json:"encrypted"`
		RequestID string          `json:"request_id"`
	}
	if err := strictjson.UnmarshalOpen(e.Payload, &common, "encrypted", "request_id"); err != nil {
		return Facts{}, malformed("payload: %s", err)
	}
	if common.Encrypted != nil {
		return Facts{}, malformed("payload.encrypted: version 1.0 has no encryption")
	}
	f := Facts{RequestID: common.RequestID}
	var err error
	switch e.Type {
	case TypeRequest:
		err = f.request(e.Payload)
	case TypeOffer:
		err = f.offer(e.Payload)
	case TypeAccept:
		var a Accept
		if err = read(e.Payload, &a, "request_id", "accepted_at", "terms"); err == nil && a.Terms != nil {
			f.Deadline, err = optionalTime("payload.terms.deadline", a.Terms.Deadline)
		}
	case TypeResult:
		err = f.result(e.Payload)
	case TypeError:
		err = f.failure(e.Payload)
	case TypeCancel, TypeStatus:
	}
	if err == nil && f.RequestID != "" && !idForm.MatchString(f.RequestID) {
		err = malformed("payload.request_id: must be 1 to %d of A-Z a-z 0-9 _ : . -", MaxID)
	}
	return f, err
}

func (f *Facts) request(payload []byte) error {
	var r Request
	if err := read(payload, &r, "request_id", "intent", "title", "description", "params", "constraints"); err != nil {
		return err
	}
	switch {
	case r.RequestID == "":
		return malformed("payload.request_id: is missing")
	case !intentForm.MatchString(r.Intent) || len(r.Intent) > MaxID:
		return malformed("payload.intent: must be lower case words with dots, like translation.en_zh")
	case r.Constraints == nil:
		return nil
	}
	var err error
	f.Deadline, err = optionalTime("payload.constraints.deadline", r.Constraints.Deadline)
	return err
}

func (f *Facts) offer(payload []byte) error {
	var o Offer
	if err := read(payload, &o, "request_id", "plan", "price", "eta_seconds", "valid_until"); err != nil {
		return err
	}
	switch {
	case len(o.Plan) > maxPlan:
		return malformed("payload.plan: may have at most %d bytes", maxPlan)
	case o.Price != nil && o.Price.Amount < 0:
		return malformed("payload.price.amount: must be 0 or more")
	case o.Price != nil && len(o.Price.Currency) > MaxID:
		return malformed("payload.price.currency: may have at most %d characters", MaxID)
	case o.ETASeconds != nil && (*o.ETASeconds < 0 || *o.ETASeconds > maxSeconds):
		return malformed("payload.eta_seconds: must be 0 to %d", maxSeconds)
	}
	var err error
	f.Until, err = optionalTime("payload.valid_until", o.ValidUntil)
	return err
}

func (f *Facts) result(payload []byte) error {
	var r Result
	if err := read(payload, &r, "request_id", "status", "output", "artifacts", "metrics"); err != nil {
		return err
	}
	switch {
	case len(r.Metrics) > maxMetrics || !isNull(r.Metrics) && r.Metrics[0] != '{':
		return malformed("payload.metrics: must be an object of at most %d bytes", maxMetrics)
	case len(r.Artifacts) > maxArtifacts || !isNull(r.Artifacts) && r.Artifacts[0] != '[':
		return malformed("payload.artifacts: must be an array of at most %d bytes", maxArtifacts)
	}
	switch r.Status {
	case ResultSuccess, ResultPartial, ResultFailed, ResultCancelled:
		f.Status = r.Status
		return nil
	}
	return malformed("payload.status: must be success, partial, failed or cancelled")
}

func (f *Facts) failure(payload []byte) error {
	var r Failure
	if err := read(payload, &r, "code", "message", "details"); err != nil {
		return err
	}
	if r.Code == "" || len(r.Code) > MaxID {
		return malformed("payload.code: is missing or over %d characters", MaxID)
	}
	f.Code = r.Code
	var details struct {
		RequestID string `json:"request_id"`
	}
	if len(r.Details) > 0 && r.Details[0] == '{' && strictjson.UnmarshalOpen(r.Details, &details) == nil && f.RequestID == "" {
		f.RequestID = details.RequestID
	}
	return nil
}

// isNull reports whether a member is missing or null.
func isNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

func read(payload []byte, v any, names ...string) error {
	if err := strictjson.UnmarshalOpen(payload, v, names...); err != nil {
		return malformed("payload: %s", err)
	}
	return nil
}

func optionalTime(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := ParseTime(text)
	if err != nil {
		return t, malformed("%s: %s", field, err)
	}
	return t, nil
}
