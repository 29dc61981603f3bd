package telemetry

import (
	"context"
	"crypto/sha256"
	"strconv"

	"go.opentelemetry.io/otel/trace"
)

// ids are those of a span.
type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

// matchIDs returns the ids of the span of a match: parts of the SHA-256 of its id.
func matchIDs(matchID string) ids {
	sum := sha256.Sum256([]byte(matchID))
	return ids{trace.TraceID(sum[:16]), trace.SpanID(sum[16:24])}
}

// seatIDs returns the ids of the span of a seat in a round.
func seatIDs(matchID string, round int, agentID string) ids {
	sum := sha256.Sum256([]byte(matchID + " " + strconv.Itoa(round) + " " + agentID))
	return ids{matchIDs(matchID).trace, trace.SpanID(sum[:8])}
}

// idsKey is the key of the ids of the next span in a context.
type idsKey struct{}

// givenIDs is a generator of ids that returns those in the context.
type givenIDs struct{}

// NewIDs returns the ids of a span without a parent.
func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	own, _ := ctx.Value(idsKey{}).(ids)
	return own.trace, own.span
}

// NewSpanID returns the id of a span in the trace of its parent.
func (givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	own, _ := ctx.Value(idsKey{}).(ids)
	return own.span
}
