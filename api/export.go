package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/visibility"
)

const (
	leagueExportPath = "/v1/leagues/{slug}/export"

	exportPage  = 100              // settled matches that are read at once
	exportChunk = 64 << 10         // bytes from which on lines are written
	exportWrite = 30 * time.Second // for a reader to take a chunk
)

// exportHandlers serve the data of leagues: their settled matches in the order of
// the settlements.
type exportHandlers struct {
	rows    Rows
	visible Visible
	matches *matchViews
	dear    dearWork
	open    *quota.Slots // streams, by address
	url     string       // of the arena
	now     func() time.Time
	log     *slog.Logger
}

type exportLeagueInput struct {
	SlugParam
	FromAddress
	Kind  string `query:"kind" enum:"card,matches,rounds,answers,verdicts,ratings" default:"card" doc:"Of the lines; card: the data card, a JSON document that describes them."`
	Since int64  `query:"since" minimum:"0" default:"0" doc:"Only matches after this settlement; exclusive, 0 for all. Each line has the settlement of its match."`
}

// settledMatch is a match as spectators may see it, with its settlement.
type settledMatch struct {
	arena.Settlement
	match visibility.Match
}

// exportKind is a kind of lines.
type exportKind struct {
	name  string
	about string
	line  any // a zero one, whose members the data card lists
	lines func(h *exportHandlers, ctx context.Context, s settledMatch) ([]any, error)
}

// exportKinds returns the kinds of lines.
func exportKinds() []exportKind {
	return []exportKind{
		{"matches", "One line for each match, with its seats and their places.", exportedMatch{}, (*exportHandlers).matchLines},
		{"rounds", "One line for each round: the task, and the right answer if the task has one.", exportedRound{}, (*exportHandlers).roundLines},
		{"answers", "One line for each seat and round.", exportedAnswer{}, (*exportHandlers).answerLines},
		{"verdicts", "One line for each verdict of a judge. Where a round has several, the last one counts.", exportedVerdict{}, (*exportHandlers).verdictLines},
		{"ratings", "One line for each settlement: what a match did to the ratings of its agents.", exportedRatings{}, (*exportHandlers).ratingLines},
	}
}

// export answers with the data card of a league, or streams lines of one kind.
func (h *exportHandlers) export(ctx context.Context, in *exportLeagueInput) (*exportOutput, error) {
	l, err := h.rows.Leagues.League(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	if l.Status == arena.LeagueFrozen && !callerOf(ctx).May(l.Slug, arena.RightOrganize) {
		return nil, arena.Errorf(arena.CodeConflict, "the table of league %s is hidden, and its data would show it; export it when the league resumes", l.Slug)
	}
	kinds := exportKinds()
	i := slices.IndexFunc(kinds, func(k exportKind) bool { return k.name == in.Kind })
	if i < 0 {
		return h.card(ctx, l)
	}
	release, err := h.open.Acquire(in.address)
	if err != nil {
		return nil, err
	}
	first, err := h.page(ctx, l.Slug, in.Since) // what fails here is still answered as a problem
	if err != nil {
		release()
		return nil, err
	}
	return &exportOutput{
		ContentType: ndjsonType, Disposition: fmt.Sprintf(`attachment; filename="%s-%s.jsonl"`, l.Slug, in.Kind),
		Body: func(c huma.Context) {
			defer release()
			if err := h.stream(ctx, humagin.Unwrap(c).Writer, l.Slug, kinds[i], first); err != nil {
				h.log.InfoContext(ctx, "export cut off", "league", l.Slug, "kind", in.Kind, "error", err)
				panic(http.ErrAbortHandler) // an end without an error would look like the end of the data
			}
		},
	}, nil
}

// page returns the next settled matches of a league after a settlement.
func (h *exportHandlers) page(ctx context.Context, league string, since int64) (page []settledMatch, err error) {
	err = h.dear.do(ctx, func() error {
		settlements, err := h.rows.Ratings.Settlements(ctx, league, since, exportPage)
		if err != nil || len(settlements) == 0 {
			return err
		}
		ids := make([]string, len(settlements))
		for i, s := range settlements {
			ids[i] = s.MatchID
		}
		matches, _, err := h.visible.Matches(ctx, arena.MatchFilter{IDs: ids}, arena.Page{Limit: exportPage})
		if err != nil {
			return err
		}
		byID := make(map[string]visibility.Match, len(matches))
		for _, m := range matches {
			byID[m.ID] = m
		}
		for _, s := range settlements {
			m := byID[s.MatchID]
			if m.Status != arena.MatchFinished {
				return fmt.Errorf("settlement %d is of match %s, which is not finished", s.Seq, s.MatchID)
			}
			page = append(page, settledMatch{s, m})
		}
		return nil
	})
	return page, err
}

// stream writes the lines of a page and of those after it. It holds the lines of
// one match, or of some small ones, at a time, and no transaction between them.
func (h *exportHandlers) stream(ctx context.Context, w http.ResponseWriter, league string, kind exportKind, page []settledMatch) (err error) {
	out := http.NewResponseController(w)
	var buffer bytes.Buffer
	for ; len(page) > 0 && err == nil; page, err = h.page(ctx, league, page[len(page)-1].Seq) {
		for i, s := range page {
			if err := h.dear.do(ctx, func() error { return h.write(ctx, &buffer, kind, s) }); err != nil {
				return err
			}
			if buffer.Len() < exportChunk && i < len(page)-1 {
				continue
			}
			_ = out.SetWriteDeadline(h.now().Add(exportWrite)) // writers of tests have none
			if _, err := buffer.WriteTo(w); err != nil {
				return fmt.Errorf("write: %w", err)
			}
			if buffer.Cap() > 16*exportChunk { // of a long match
				buffer = bytes.Buffer{}
			}
		}
		_ = out.Flush() // what cannot be flushed is written at the end
	}
	return err
}

// write appends the lines of a match.
func (h *exportHandlers) write(ctx context.Context, w io.Writer, kind exportKind, s settledMatch) error {
	lines, err := kind.lines(h, ctx, s)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if err := encodeJSON(w, line); err != nil {
			return err
		}
	}
	return nil
}

// exportedOf is the first part of each line. The settlement stands first, where
// arena export finds it without decoding the line.
type exportedOf struct {
	Settlement int64  `json:"settlement" doc:"Of the match, in the order of which lines come: the since that continues after it."`
	MatchID    string `json:"match_id"`
}

func (s settledMatch) of() exportedOf { return exportedOf{s.Seq, s.MatchID} }

type exportedMatch struct {
	Settlement int64 `json:"settlement" doc:"Its place in the order of settlements: the since that continues after it."`
	matchView
	ScoreMode            string `json:"score_mode" doc:"How points become a result; see the rules, section 7."`
	ZeroPointsOverTokens bool   `json:"zero_points_over_tokens,omitempty" doc:"Answers over the token limit got no points."`
	RulesVersion         int    `json:"rules_version" doc:"Of the rules under which it was played."`
}

func (h *exportHandlers) matchLines(_ context.Context, s settledMatch) ([]any, error) {
	set := s.match.Settings
	return []any{exportedMatch{s.Seq, h.matches.one(s.match), set.ScoreMode, set.MaxTokensPolicy == arena.ZeroPointsTokens, set.RulesVersion}}, nil
}

type exportedRound struct {
	exportedOf
	roundView
	Seats *struct{} `json:"seats,omitempty"` // hides those of roundView: they are the kind answers
}

func (h *exportHandlers) roundLines(ctx context.Context, s settledMatch) (lines []any, err error) {
	rounds, err := h.visible.ClosedRounds(ctx, s.match)
	for _, r := range rounds {
		lines = append(lines, exportedRound{exportedOf: s.of(), roundView: viewRound(r, s.match.Seats)})
	}
	return lines, err
}

type exportedAnswer struct {
	exportedOf
	Round int `json:"round"`
	arena.ClosedSeat
}

func (h *exportHandlers) answerLines(ctx context.Context, s settledMatch) (lines []any, err error) {
	rounds, err := h.visible.ClosedRounds(ctx, s.match)
	for _, r := range rounds {
		for _, a := range r.Answers {
			lines = append(lines, exportedAnswer{s.of(), r.No, a.Closed()})
		}
	}
	return lines, err
}

type exportedVerdict struct {
	exportedOf
	verdictView
}

func (h *exportHandlers) verdictLines(ctx context.Context, s settledMatch) (lines []any, err error) {
	verdicts, err := h.visible.Verdicts(ctx, s.match)
	for _, v := range verdicts {
		lines = append(lines, exportedVerdict{s.of(), viewVerdict(v)})
	}
	return lines, err
}

type exportedRatings struct {
	exportedOf
	At      jsonTime             `json:"at"`
	Drift   arena.MilliElo       `json:"drift" doc:"Of the sum of all ratings in the league since its beginning."`
	Changes []arena.RatingChange `json:"changes" doc:"One for each agent that was rated, with the rating before and after, K, the mean score against its opponents, and the number of rated matches."`
}

func (h *exportHandlers) ratingLines(_ context.Context, s settledMatch) ([]any, error) {
	return []any{exportedRatings{s.of(), jsonTime(s.At), s.Drift, s.Changes}}, nil
}

// exportCardView is a data card: what a data set holds, where it comes from and
// what it lacks.
type exportCardView struct {
	Name         string            `json:"name"`
	Title        string            `json:"title"`
	Arena        string            `json:"arena" doc:"The public URL."`
	ExportedAt   jsonTime          `json:"exported_at"`
	License      string            `json:"license" doc:"unknown: the arena does not know the rights in tasks and answers. Ask the host before you publish them."`
	Format       arena.Format      `json:"format"`
	Judge        string            `json:"judge" doc:"The kind of judge; empty in games."`
	Ratings      string            `json:"ratings" doc:"The rating system."`
	RulesVersion int               `json:"rules_version" doc:"Current version of the rules; each match has its own."`
	Settlement   int64             `json:"settlement" doc:"The newest settlement; 0: none."`
	From         *jsonTime         `json:"from,omitempty" doc:"First settlement."`
	Till         *jsonTime         `json:"till,omitempty" doc:"Newest settlement."`
	Matches      int               `json:"matches"`
	Rounds       int               `json:"rounds"`
	Kinds        []exportKindView  `json:"kinds"`
	LeftOut      []exportLeftOut   `json:"left_out" doc:"Data that is left out, and why."`
	Links        map[string]string `json:"links" doc:"Addresses of what belongs to the data."`
}

type exportKindView struct {
	Kind   string            `json:"kind"`
	About  string            `json:"about"`
	URL    string            `json:"url"`
	Fields []exportFieldView `json:"fields"`
}

type exportFieldView struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
}

type exportLeftOut struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

func (h *exportHandlers) card(ctx context.Context, l arena.League) (*exportOutput, error) {
	var settled arena.SettledMatches
	if err := h.dear.do(ctx, func() (err error) {
		settled, err = h.rows.Ratings.Settled(ctx, l.Slug)
		return err
	}); err != nil {
		return nil, err
	}
	base := h.url + "/v1/leagues/" + l.Slug
	v := exportCardView{
		Name: l.Slug, Title: l.Title, Arena: h.url, ExportedAt: jsonTime(h.now()), License: "unknown",
		Format: l.Settings.Format, Judge: l.Settings.Judge.Kind, Ratings: "agora-elo-1", RulesVersion: arena.RulesVersion,
		Settlement: settled.Last, From: optionalTime(settled.First), Till: optionalTime(settled.Till), Matches: settled.Matches, Rounds: settled.Rounds,
		LeftOut: []exportLeftOut{
			{fmt.Sprintf("%d finished matches without a settlement", settled.Unrated), "They were not rated or had no contest, so no rating and no rank depends on them."},
			{"matches that are scheduled, run, are void or were canceled", "They have no result."},
			{"texts of deleted accounts, and answers that a moderator removed", "They were erased, and the agents have the name \"" + arena.DeletedAgent + "\"."},
			{"accepted answers beside the right one, and questions that were not asked", "The pack asks them again."},
			{"reasoning, tool calls and other events of agents", "They are in the signed record of each match."},
		},
		Links: map[string]string{
			"league": h.url + "/l/" + l.Slug, "standings": base + "/standings", "record": h.url + "/v1/matches/{match_id}/record",
			"keys": h.url + "/.well-known/jwks.json", "openapi": h.url + "/v1/openapi.json",
		},
	}
	for _, k := range exportKinds() {
		v.Kinds = append(v.Kinds, exportKindView{k.name, k.about, base + "/export?kind=" + k.name, exportFields(reflect.TypeOf(k.line))})
	}
	return &exportOutput{ContentType: jsonType, Body: func(c huma.Context) {
		if err := encodeJSON(c.BodyWriter(), v); err != nil {
			h.log.DebugContext(ctx, "data card not sent", "error", err)
		}
	}}, nil
}

// exportFields returns the members of a line, in their order.
func exportFields(line reflect.Type) (fields []exportFieldView) {
	for f := range line.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			for _, below := range exportFields(f.Type) {
				if !slices.ContainsFunc(fields, func(v exportFieldView) bool { return v.Name == below.Name }) {
					fields = append(fields, below)
				}
			}
		case f.Type == reflect.TypeFor[*struct{}](): // it hides a member
			fields = slices.DeleteFunc(fields, func(v exportFieldView) bool { return v.Name == name })
		default:
			fields = append(fields, exportFieldView{name, f.Tag.Get("doc")})
		}
	}
	return fields
}

// mountExport mounts the export of a league, whose answer is a document or lines.
func mountExport(a *API, r route) {
	handleOn(exports, (*exportHandlers).export)(a, r)
	doc := a.huma.OpenAPI()
	operationAt(doc, r.method, r.path).Responses["200"] = &huma.Response{
		Description: http.StatusText(http.StatusOK),
		Content: map[string]*huma.MediaType{
			jsonType:   {Schema: doc.Components.Schemas.Schema(reflect.TypeFor[exportCardView](), true, "")},
			ndjsonType: {Schema: &huma.Schema{Type: huma.TypeString, Description: "One object per line, by settlement. A response that breaks off is continued with since."}},
		},
	}
}
