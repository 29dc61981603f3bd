package api

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/agora-arena/arena/arena"
)

const csvType = "text/csv"

// tabular is an answer that has a form as CSV.
type tabular interface {
	rows() [][]string // the first has the names of the columns
	next() string     // the cursor of the next part, or ""
}

// writeCSV writes a table as CSV (RFC 4180), and every other answer as JSON.
func writeCSV(w io.Writer, v any) error {
	t, ok := v.(tabular)
	if !ok {
		return writeJSON(w, v)
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	return out.WriteAll(t.rows())
}

// asTable is a huma.Transformer. It names the media type of answers that have no
// form as CSV, and the next part of a table, for which CSV has no place.
func asTable(ctx huma.Context, _ string, v any) (any, error) {
	c := humagin.Unwrap(ctx)
	if kind := c.Writer.Header().Get("Content-Type"); !strings.HasPrefix(kind, csvType) {
		return v, nil
	}
	t, ok := v.(tabular)
	if !ok {
		ctx.SetHeader("Content-Type", jsonType)
		return v, nil
	}
	if cursor := t.next(); cursor != "" {
		q := c.Request.URL.Query()
		q.Set("cursor", cursor)
		ctx.SetHeader("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, c.Request.URL.Path, q.Encode()))
	}
	return v, nil
}

// ContentType makes standingsView a huma.ContentTypeFilter.
func (standingsView) ContentType(kind string) string {
	if kind == csvType {
		return csvType + "; charset=utf-8"
	}
	return kind
}

func (t standingsView) next() string { return t.NextCursor }

func (t standingsView) rows() [][]string {
	rows := [][]string{{
		"rank", "tier", "agent_id", "name", "owner_id", "owner_name", "status", "protocol", "version", "model",
		"rating", "rated_matches", "provisional", "wins", "draws", "losses", "opponents", "opponent_groups", "last_rated_at",
		"fit_rating", "fit_low", "fit_high", "fit_rank_low", "fit_rank_high", "fit_island",
	}}
	for _, s := range t.Items {
		last, fit := "", make([]string, 6)
		if s.LastRatedAt != nil {
			last = time.Time(*s.LastRatedAt).UTC().Format(arena.TimeFormat)
		}
		if f := s.Fit; f != nil {
			fit = []string{elo(f.Rating), elo(f.Low), elo(f.High), strconv.Itoa(f.RankLow), strconv.Itoa(f.RankHigh), strconv.Itoa(f.Component)}
		}
		rows = append(rows, append([]string{
			place(s.Rank), place(s.Tier), s.AgentID, cell(s.Name), s.OwnerID, cell(s.OwnerName), string(s.Status), s.Protocol, cell(s.Version), cell(s.Model),
			elo(s.Rating), strconv.Itoa(s.RatedMatches), strconv.FormatBool(s.Provisional), strconv.Itoa(s.Wins), strconv.Itoa(s.Draws), strconv.Itoa(s.Losses),
			strconv.Itoa(s.Opponents), strconv.Itoa(s.Groups), last,
		}, fit...))
	}
	return rows
}

// place returns a rank or tier as a cell, which is empty without one.
func place(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func elo(m arena.MilliElo) string { return string(m.AppendJSON(nil)) }

// cell returns a text that people chose as a cell. Spreadsheets take one that begins
// like a formula for one, unless a quote precedes it (OWASP, "CSV Injection").
func cell(text string) string {
	if strings.IndexAny(text, "=+-@\t\r\n＝＋－＠") == 0 {
		return "'" + text
	}
	return text
}
