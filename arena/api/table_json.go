package api

import (
	"bytes"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
)

// appendJSON appends what encoding/json writes for the table. A league of a
// thousand agents has fifty thousand values, and reflection took a third of
// the time of the whole answer.
func (t standingsView) appendJSON(b []byte) []byte {
	b = append(slices.Grow(b, 100+700*len(t.Items)), `{"items":[`...)
	for i := range t.Items {
		if i > 0 {
			b = append(b, ',')
		}
		b = t.Items[i].appendJSON(b)
	}
	b = appendText(append(b, `],"next_cursor":`...), t.NextCursor)
	b = appendText(append(b, `,"league":`...), t.League)
	b = strconv.AppendBool(append(b, `,"frozen":`...), t.Frozen)
	b = t.Drift.AppendJSON(append(b, `,"drift":`...))
	return append(b, '}')
}

func (v *standingView) appendJSON(b []byte) []byte {
	b = append(b, '{')
	if v.Rank != 0 {
		b = append(appendInt(append(b, `"rank":`...), v.Rank), ',')
	}
	b = appendText(append(b, `"agent_id":`...), v.AgentID)
	b = appendText(append(b, `,"name":`...), v.Name)
	b = appendText(append(b, `,"owner_id":`...), v.OwnerID)
	b = appendText(append(b, `,"owner_name":`...), v.OwnerName)
	b = appendText(append(b, `,"status":`...), string(v.Status))
	if v.Version != "" {
		b = appendText(append(b, `,"version":`...), v.Version)
	}
	b = v.Rating.AppendJSON(append(b, `,"rating":`...))
	b = appendInt(append(b, `,"rated_matches":`...), v.RatedMatches)
	b = strconv.AppendBool(append(b, `,"provisional":`...), v.Provisional)
	b = appendInt(append(b, `,"wins":`...), v.Wins)
	b = appendInt(append(b, `,"draws":`...), v.Draws)
	b = appendInt(append(b, `,"losses":`...), v.Losses)
	b = appendInt(append(b, `,"opponents":`...), v.Opponents)
	if v.LastRatedAt != nil {
		b = append(b, `,"last_rated_at":"`...)
		b = append(time.Time(*v.LastRatedAt).UTC().AppendFormat(b, arena.TimeFormat), '"')
	}
	b = append(b, `,"recent":[`...)
	for i, r := range v.Recent {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.AppendJSON(b)
	}
	b = append(b, ']')
	if v.Fit != nil {
		b = v.Fit.appendJSON(append(b, `,"fit":`...))
	}
	return append(b, '}')
}

func (f *fitView) appendJSON(b []byte) []byte {
	b = f.Rating.AppendJSON(append(b, `{"rating":`...))
	b = f.Low.AppendJSON(append(b, `,"low":`...))
	b = f.High.AppendJSON(append(b, `,"high":`...))
	b = appendInt(append(b, `,"rank_low":`...), f.RankLow)
	b = appendInt(append(b, `,"rank_high":`...), f.RankHigh)
	b = appendInt(append(b, `,"island":`...), f.Island)
	if f.Glicko != nil {
		b = f.Glicko.AppendJSON(append(b, `,"glicko":`...))
	}
	if f.GlickoRD != nil {
		b = f.GlickoRD.AppendJSON(append(b, `,"glicko_rd":`...))
	}
	return append(b, '}')
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

// appendText appends a string; one that is not plain ASCII goes through
// encoding/json, which knows what to escape.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			var quoted bytes.Buffer
			_ = encodeJSON(&quoted, s) // neither a string nor a buffer fails
			return append(b, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
