package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

const (
	jsonType   = "application/json"
	ndjsonType = "application/x-ndjson"
)

// humaConfig sets Huma up: strict JSON in, plain JSON out, our problems, and
// no pages or routes of its own.
func (a *API) humaConfig(siteURL string) huma.Config {
	strict := huma.Format{Marshal: writeJSON, Unmarshal: strictjson.UnmarshalWhole}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:   "Agora Arena",
				Version: "1.0.0",
				Description: "Agents register, play matches and are rated; spectators watch. JSON is snake_case; times are RFC 3339 in UTC with " +
					"milliseconds; every error is an RFC 9457 problem with a stable code.",
				License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Servers: []*huma.Server{{URL: siteURL}},
			Components: &huma.Components{
				Schemas: newRegistry(),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer", Description: "The token of an owner or an admin."},
					"task":   {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "The token that came with a task."},
				},
			},
			Tags: tags(),
		},
		Formats: map[string]huma.Format{
			jsonType: strict,
			"json":   strict, // for application/problem+json
			// A JSON document on one line is also newline-delimited JSON, so
			// every answer has this form; lists give one line per item.
			ndjsonType: {Marshal: writeLines, Unmarshal: strictjson.UnmarshalWhole},
			csvType:    {Marshal: writeCSV, Unmarshal: strictjson.UnmarshalWhole},
		},
		DefaultFormat:                jsonType,
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{asTable, toProblem},
	}
}

// newRegistry returns the schemas of types that write themselves.
func newRegistry() huma.Registry {
	r := huma.NewMapRegistry("#/components/schemas/", schemaName)
	for from, to := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[arena.MilliElo]():   reflect.TypeFor[float64](),
		reflect.TypeFor[arena.Points]():     reflect.TypeFor[float64](),
		reflect.TypeFor[arena.Event]():      reflect.TypeFor[eventDoc](),
		reflect.TypeFor[jsonTime]():         reflect.TypeFor[time.Time](),
		reflect.TypeFor[huma.ErrorModel]():  reflect.TypeFor[problem](),
		reflect.TypeFor[arena.Visibility](): reflect.TypeFor[visibilityDoc](),
	} {
		r.RegisterTypeAlias(from, to)
	}
	return r
}

// visibilityDoc documents an arena.Visibility.
type visibilityDoc struct{}

// Schema implements huma.SchemaProvider.
func (visibilityDoc) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Pattern: arena.VisibilityPattern}
	s.PrecomputeMessages()
	return s
}

// schemaName names a schema by its Go type, without the suffix that keeps the
// type apart from the word it shows. Published names stay when a type is renamed.
func schemaName(t reflect.Type, hint string) string {
	return strings.NewReplacer("View", "", "Doc", "", "NoShow", "Dodge").Replace(huma.DefaultSchemaNamer(t, hint))
}

// refuseNullArrays makes all arrays of the document non-nullable: responses
// always have at least [], and a request with null is rejected.
func refuseNullArrays(schemas map[string]*huma.Schema) {
	for _, s := range schemas {
		if s == nil {
			continue
		}
		if s.Type == huma.TypeArray {
			s.Nullable = false
			refuseNullArrays(map[string]*huma.Schema{"": s.Items})
		}
		refuseNullArrays(s.Properties)
		if m, ok := s.AdditionalProperties.(*huma.Schema); ok {
			refuseNullArrays(map[string]*huma.Schema{"": m})
		}
	}
}

// openAnswers lets answers grow: a client must pass over members that it does
// not know. Requests, whose schemas end in Body, stay closed.
func openAnswers(schemas map[string]*huma.Schema) {
	for name, s := range schemas {
		if closed, ok := s.AdditionalProperties.(bool); ok && !closed && !strings.HasSuffix(name, "Body") {
			s.AdditionalProperties = nil
		}
	}
}

// writeJSON writes one JSON document and a newline, < and & as they are.
func writeJSON(w io.Writer, v any) error {
	if a, ok := v.(appender); ok {
		_, err := w.Write(append(a.appendJSON(nil), '\n'))
		return err
	}
	return encodeJSON(w, v)
}

// appender is an answer that is long enough to write itself.
type appender interface{ appendJSON(b []byte) []byte }

func encodeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// liner is an answer that has one line per item as newline-delimited JSON.
type liner interface{ lines() []any }

func writeLines(w io.Writer, v any) error {
	l, ok := v.(liner)
	if !ok {
		return writeJSON(w, v)
	}
	for _, line := range l.lines() {
		if err := writeJSON(w, line); err != nil {
			return err
		}
	}
	return nil
}

// jsonTime is a timestamp on the wire: RFC 3339, UTC, milliseconds.
type jsonTime time.Time

// MarshalJSON writes arena.TimeFormat.
func (t jsonTime) MarshalJSON() ([]byte, error) {
	return []byte(`"` + time.Time(t).UTC().Format(arena.TimeFormat) + `"`), nil
}

// optionalTime is nil for the zero time.
func optionalTime(t time.Time) *jsonTime {
	if t.IsZero() {
		return nil
	}
	j := jsonTime(t)
	return &j
}

// listOf is the shape of every list.
type listOf[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor" doc:"Give it back as cursor for the next part; empty at the end."`
}

// output is the answer of a handler: a body, and the status of the route.
type output[T any] struct{ Body T }

//nolint:unparam // the error is nil so that handlers end in return answer(…)
func answer[T any](body T) (*output[T], error) { return &output[T]{Body: body}, nil }

func answerList[T any](items []T, next string) (*output[listOf[T]], error) {
	if items == nil {
		items = []T{}
	}
	return answer(listOf[T]{Items: items, NextCursor: next})
}

// empty is the answer of a route without a body: 204.
type empty struct{}

// PageParams are the query parameters of every list. Huma reads embedded
// parameters of exported types only.
type PageParams struct {
	Cursor string `query:"cursor" maxLength:"400" doc:"The next_cursor of the part before; empty for the first."`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"How many items at most."`
}

func (p PageParams) page() arena.Page { return arena.Page{Cursor: p.Cursor, Limit: p.Limit} }

// PartParams are the query parameters of lists that come whole unless a limit
// is asked for.
type PartParams struct {
	Cursor string `query:"cursor" maxLength:"400" doc:"The next_cursor of the part before; empty for the first."`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" doc:"How many items at most; without it, all of them up to 1 MiB."`
}

// IDPartParams ask for a part of a whole list that an agent or a match has.
type IDPartParams struct {
	IDParam
	PartParams
}

// maxListBytes bounds a list that comes whole. What exceeds it follows under its
// next_cursor.
const maxListBytes = 1 << 20

// partOf returns the part of a whole list that p asks for, and the cursor of the
// next one. Such a list has no key that stays: the cursor counts items.
func partOf[T any](p PartParams, items []T) (part []T, next string, err error) {
	from := 0
	if p.Cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(p.Cursor)
		count, ours := strings.CutPrefix(string(raw), "o:")
		if from, _ = strconv.Atoi(count); err != nil || !ours || from < 1 {
			return nil, "", arena.Invalid("cursor", "is not one that this list gave out")
		}
	}
	part = items[min(from, len(items)):]
	limit := p.Limit
	if limit == 0 {
		if limit, err = withinBytes(part, maxListBytes); err != nil {
			return nil, "", err
		}
	}
	if len(part) > limit {
		part = part[:limit]
		next = base64.RawURLEncoding.EncodeToString([]byte("o:" + strconv.Itoa(from+limit)))
	}
	return part, next, nil
}

// withinBytes returns how many items from the first on fit into limit bytes of
// JSON; at least one.
func withinBytes[T any](items []T, limit int) (n int, err error) {
	var buffer []byte
	for i := range items {
		if a, ok := any(&items[i]).(interface{ appendJSON(b []byte) []byte }); ok {
			buffer = a.appendJSON(buffer[:0])
		} else if buffer, err = json.Marshal(items[i]); err != nil {
			return 0, fmt.Errorf("size of a list: %w", err)
		}
		if limit -= len(buffer); limit < 0 && i > 0 {
			return i, nil
		}
	}
	return len(items), nil
}

// answerPart answers with a part of a whole list.
func answerPart[T any](p PartParams, items []T) (*output[listOf[T]], error) {
	part, next, err := partOf(p, items)
	if err != nil {
		return nil, err
	}
	return answerList(part, next)
}

// eventDoc describes arena.Event, which writes itself.
type eventDoc struct {
	_       struct{}  `additionalProperties:"true"`
	Seq     int64     `json:"seq" doc:"1, 2, 3 … within the match, without gaps."`
	MatchID string    `json:"match_id"`
	Round   int       `json:"round,omitempty" doc:"Absent outside rounds."`
	AgentID string    `json:"agent_id,omitempty" doc:"Absent for the match itself."`
	TS      time.Time `json:"ts"`
	Type    string    `json:"type" doc:"The type of the event; further fields depend on it."`
}

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
	if t.FitSettlement != 0 {
		b = strconv.AppendInt(append(b, `,"fit_settlement":`...), t.FitSettlement, 10)
	}
	if t.FirstMover != nil {
		first, _ := json.Marshal(t.FirstMover) // numbers only: it does not fail
		b = append(append(b, `,"first_mover":`...), first...)
	}
	if t.Tiers != nil {
		tiers, _ := json.Marshal(t.Tiers) // numbers, codes and ids: it does not fail
		b = append(append(b, `,"tiers":`...), tiers...)
	}
	return append(b, '}')
}

func (v *standingView) appendJSON(b []byte) []byte {
	b = append(b, '{')
	if v.Rank != 0 {
		b = append(appendInt(append(b, `"rank":`...), v.Rank), ',')
	}
	if v.Tier != 0 {
		b = append(appendInt(append(b, `"tier":`...), v.Tier), ',')
	}
	if v.TierRange != nil {
		b = appendInt(append(b, `"tier_range":[`...), v.TierRange[0])
		b = append(appendInt(append(b, ','), v.TierRange[1]), "],"...)
	}
	b = appendText(append(b, `"agent_id":`...), v.AgentID)
	b = appendText(append(b, `,"name":`...), v.Name)
	b = appendText(append(b, `,"owner_id":`...), v.OwnerID)
	b = appendText(append(b, `,"owner_name":`...), v.OwnerName)
	b = appendText(append(b, `,"status":`...), string(v.Status))
	b = appendText(append(b, `,"protocol":`...), v.Protocol)
	if v.BuiltIn {
		b = append(b, `,"built_in":true`...)
	}
	if v.Pull {
		b = append(b, `,"pull":true`...)
	}
	if v.Version != "" {
		b = appendText(append(b, `,"version":`...), v.Version)
	}
	if v.Model != "" {
		b = appendText(append(b, `,"model":`...), v.Model)
	}
	b = v.Rating.AppendJSON(append(b, `,"rating":`...))
	b = appendInt(append(b, `,"rated_matches":`...), v.RatedMatches)
	b = strconv.AppendBool(append(b, `,"provisional":`...), v.Provisional)
	b = appendInt(append(b, `,"wins":`...), v.Wins)
	b = appendInt(append(b, `,"draws":`...), v.Draws)
	b = appendInt(append(b, `,"losses":`...), v.Losses)
	b = appendInt(append(b, `,"opponents":`...), v.Opponents)
	b = appendInt(append(b, `,"opponent_groups":`...), v.Groups)
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
	if v.Games != nil {
		b = v.Games.appendJSON(append(b, `,"games":`...))
	}
	return append(b, '}')
}

func (f *fitView) appendJSON(b []byte) []byte {
	b = f.Rating.AppendJSON(append(b, `{"rating":`...))
	b = f.Low.AppendJSON(append(b, `,"low":`...))
	b = f.High.AppendJSON(append(b, `,"high":`...))
	b = appendInt(append(b, `,"rank_low":`...), f.RankLow)
	b = appendInt(append(b, `,"rank_high":`...), f.RankHigh)
	b = appendInt(append(b, `,"island":`...), f.Component)
	return append(b, '}')
}

func (g *gameTallyView) appendJSON(b []byte) []byte {
	b = g.All.appendJSON(append(b, `{"all":`...))
	b = g.PlayedOut.appendJSON(append(b, `,"played_out":`...))
	b = appendInt(append(b, `,"default_moves":`...), g.DefaultMoves)
	b = appendInt(append(b, `,"forfeits_won":`...), g.ForfeitsWon)
	b = appendInt(append(b, `,"forfeits_lost":`...), g.ForfeitsLost)
	b = appendInt(append(b, `,"illegal_moves":`...), g.Illegal)
	b = appendInt(append(b, `,"timeouts":`...), g.Timeouts)
	b = appendInt(append(b, `,"no_shows":`...), g.NoShows)
	return append(appendInt(append(b, `,"faults":`...), g.Faults), '}')
}

func (s gameScoreView) appendJSON(b []byte) []byte {
	b = appendInt(append(b, `{"games":`...), s.Games)
	b = appendInt(append(b, `,"wins":`...), s.Wins)
	b = appendInt(append(b, `,"draws":`...), s.Draws)
	b = appendInt(append(b, `,"losses":`...), s.Losses)
	points, _ := s.Points.MarshalJSON() // never fails
	return append(append(append(b, `,"points":`...), points...), '}')
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
