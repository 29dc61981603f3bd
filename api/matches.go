package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/record"
	"github.com/agora-arena/arena/visibility"
)

// Matches is the service for matches.
type Matches interface {
	Create(ctx context.Context, caller arena.Caller, in arena.MatchRequest) (arena.Match, error)
	Challenge(ctx context.Context, caller arena.Caller, in arena.ChallengeRequest) (arena.Match, error)
	Cancel(ctx context.Context, caller arena.Caller, id, reason string) error
	Void(ctx context.Context, caller arena.Caller, id, reason string) error
	Hide(ctx context.Context, caller arena.Caller, id string, round int, agentID, reason string) error
	Rescore(ctx context.Context, caller arena.Caller, id string) (arena.RescoreReport, error)
	CorrectTask(ctx context.Context, caller arena.Caller, packID string, n int, preview bool) (arena.TaskCorrection, error)
	RescoreLeague(ctx context.Context, caller arena.Caller, slug string) (arena.RescoreReport, error)
	RemoveTask(ctx context.Context, caller arena.Caller, packID string, n int) (arena.TaskRemoval, error)
	RebuildRatings(ctx context.Context, caller arena.Caller, slug string) (settlements int, err error)
}

// matchHandlers serve the routes of matches.
type matchHandlers struct {
	matches Matches
	visible Visible
	rows    Rows
	views   *matchViews
	sign    func(ctx context.Context, rows record.Rows) (record.Signed, error)
	draw    func(m visibility.Match, league string, chosen map[string]string, state json.RawMessage) ([]byte, error)
	write   func(ctx context.Context, m visibility.Match, league string, rounds []visibility.ClosedRound) (arena.Notation, error)
}

type createMatchInput struct {
	Body struct{ arena.MatchRequest } `nameHint:"CreateMatchBody"`
}

func (h *matchHandlers) create(ctx context.Context, in *createMatchInput) (*output[matchView], error) {
	return h.created(h.matches.Create(ctx, callerOf(ctx), in.Body.MatchRequest))
}

type challengeInput struct {
	Body struct{ arena.ChallengeRequest } `nameHint:"ChallengeBody"`
}

func (h *matchHandlers) challenge(ctx context.Context, in *challengeInput) (*output[matchView], error) {
	return h.created(h.matches.Challenge(ctx, callerOf(ctx), in.Body.ChallengeRequest))
}

// created answers with a match as it was created: reading it would compete
// with its start.
func (h *matchHandlers) created(m arena.Match, err error) (*output[matchView], error) {
	if err != nil {
		return nil, err
	}
	return answer(h.views.one(visibility.Scheduled(m)))
}

// StatusParam is the query parameter status. Huma reads embedded parameters
// of exported types only.
type StatusParam struct {
	Status []string `query:"status" nullable:"false" enum:"scheduled,ready,running,finished,void,cancelled,live" doc:"Only in one of these states, separated by commas; live is running."`
}

func (p StatusParam) statuses() []arena.MatchStatus {
	var list []arena.MatchStatus
	for _, s := range p.Status {
		if s == "live" {
			s = string(arena.MatchRunning)
		}
		list = append(list, arena.MatchStatus(s))
	}
	return list
}

type listMatchesInput struct {
	PageParams
	StatusParam
	League   string    `query:"league" maxLength:"40" doc:"Only in this league."`
	Agent    string    `query:"agent" maxLength:"64" doc:"Only with a seat of this agent."`
	Opponent string    `query:"opponent" maxLength:"64" doc:"With agent: only with a seat of this one, too."`
	Query    string    `query:"q" maxLength:"40" doc:"Only with a seat of an agent that has this in its name, in any case. A text in the names of more than 16 agents selects the 16 with the shortest names."`
	From     time.Time `query:"from" doc:"Only those that start at this time or later. With from or to, the latest start is first."`
	To       time.Time `query:"to" doc:"Only those that start before this time."`
	Order    string    `query:"order" enum:"newest,soonest" default:"newest" doc:"soonest: by start, the first to start first."`
}

func (h *matchHandlers) list(ctx context.Context, in *listMatchesInput) (*output[listOf[matchView]], error) {
	if in.Opponent != "" && in.Agent == "" {
		return nil, arena.Invalid("opponent", "needs agent")
	}
	return h.views.answerPage(ctx, arena.MatchFilter{
		League: in.League, AgentID: in.Agent, OpponentID: in.Opponent, Query: in.Query, Statuses: in.statuses(),
		From: in.From.UTC(), To: in.To.UTC(), Soonest: in.Order == "soonest",
	}, in.page())
}

func (h *matchHandlers) get(ctx context.Context, in *IDParam) (*output[snapshotView], error) {
	m, err := h.current(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	v := snapshotView{MatchView: m, Match: m, Points: map[string]arena.Points{}}
	for _, s := range m.Seats {
		v.Points[s.AgentID] = s.Points
	}
	return answer(v)
}

// current returns a match with its last round, as spectators see it.
func (h *matchHandlers) current(ctx context.Context, id string) (matchView, error) {
	m, err := h.visible.Match(ctx, id)
	if err != nil {
		return matchView{}, err
	}
	return h.views.current(ctx, m)
}

type endMatchInput struct {
	IDParam
	Body *struct {
		Reason string `json:"reason,omitempty" maxLength:"200" doc:"Shown to everyone."`
	} `nameHint:"EndMatchBody"`
}

// reason returns the one given, "" if there is none.
func (in *endMatchInput) reason() string {
	if in.Body == nil {
		return ""
	}
	return in.Body.Reason
}

func (h *matchHandlers) cancel(ctx context.Context, in *endMatchInput) (*output[matchView], error) {
	return h.ended(ctx, in.ID, h.matches.Cancel(ctx, callerOf(ctx), in.ID, in.reason()))
}

func (h *matchHandlers) void(ctx context.Context, in *endMatchInput) (*output[matchView], error) {
	return h.ended(ctx, in.ID, h.matches.Void(ctx, callerOf(ctx), in.ID, in.reason()))
}

type hideAnswerInput struct {
	IDParam
	Round   int    `path:"n" minimum:"1"`
	AgentID string `path:"agent_id" maxLength:"64"`
	Body    struct {
		Reason string `json:"reason" minLength:"1" maxLength:"200" doc:"For the audit log."`
	} `nameHint:"HideAnswerBody"`
}

func (h *matchHandlers) hide(ctx context.Context, in *hideAnswerInput) (*empty, error) {
	return &empty{}, h.matches.Hide(ctx, callerOf(ctx), in.ID, in.Round, in.AgentID, in.Body.Reason)
}

// ended answers with a match that an operation ended.
func (h *matchHandlers) ended(ctx context.Context, id string, err error) (*output[matchView], error) {
	if err != nil {
		return nil, err
	}
	v, err := h.current(ctx, id)
	if err != nil {
		return nil, err
	}
	return answer(v)
}

type listEventsInput struct {
	IDParam
	Since int64 `query:"since" minimum:"0" default:"0" doc:"Only events after this seq; exclusive, 0 for all."`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"500" doc:"How many events at most."`
}

type eventsView struct {
	Items     []arena.Event `json:"items"`
	NextSince int64         `json:"next_since" doc:"Give it back as since for the next part."`
}

// lines makes the log newline-delimited: one event per line.
func (v eventsView) lines() []any {
	lines := make([]any, len(v.Items))
	for i, e := range v.Items {
		lines[i] = e
	}
	return lines
}

func (h *matchHandlers) events(ctx context.Context, in *listEventsInput) (*output[eventsView], error) {
	m, err := h.visible.Match(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	events, err := h.visible.Events(ctx, m.Log(), in.Since, in.Limit)
	if err != nil {
		return nil, err
	}
	v := eventsView{Items: orEmpty(events), NextSince: in.Since}
	if n := len(events); n > 0 {
		v.NextSince = events[n-1].Seq
	}
	return answer(v)
}

type listRoundsInput struct {
	IDParam
	Since int `query:"since" minimum:"0" default:"0" doc:"Only rounds after this one; exclusive."`
	Limit int `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"How many rounds at most."`
}

type roundsView struct {
	Items     []roundView `json:"items" doc:"Closed rounds, oldest first."`
	NextSince int         `json:"next_since" doc:"Give it back as since for the next part."`
}

func (h *matchHandlers) rounds(ctx context.Context, in *listRoundsInput) (*output[roundsView], error) {
	m, err := h.visible.Match(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	rounds, err := h.visible.ClosedRounds(ctx, m)
	if err != nil {
		return nil, err
	}
	seat := map[string]int{}
	for _, s := range m.Seats {
		seat[s.AgentID] = s.No
	}
	v := roundsView{Items: []roundView{}, NextSince: in.Since}
	for _, r := range rounds {
		if r.No > in.Since && len(v.Items) < in.Limit {
			slices.SortStableFunc(r.Answers, func(x, y arena.Answer) int { return cmp.Compare(seat[x.AgentID], seat[y.AgentID]) })
			v.Items = append(v.Items, viewRound(r, m.Seats))
			v.NextSince = r.No
		}
	}
	return answer(v)
}

// maxRecordEvents is the longest log that is put into one answer.
const maxRecordEvents = 50_000

// record answers with the signed record of a finished match.
func (h *matchHandlers) record(ctx context.Context, in *IDParam) (*output[record.Signed], error) {
	rows, err := h.visible.RecordRows(ctx, in.ID, maxRecordEvents)
	if err != nil {
		return nil, err
	}
	signed, err := h.sign(ctx, rows)
	if err != nil {
		return nil, err
	}
	return answer(signed)
}

type notationOutput struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

// notation answers with the games of a match in the notation of its game, as far as
// spectators may see them.
func (h *matchHandlers) notation(ctx context.Context, in *IDParam) (*notationOutput, error) {
	m, err := h.visible.Match(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	rounds, err := h.visible.ClosedRounds(ctx, m)
	if err != nil {
		return nil, err
	}
	l, err := h.rows.Leagues.League(ctx, m.League)
	if err != nil {
		return nil, err
	}
	n, err := h.write(ctx, m, l.Title, rounds)
	if err != nil {
		return nil, err
	}
	return &notationOutput{
		ContentType: n.MediaType, Disposition: fmt.Sprintf(`attachment; filename="%s.%s"`, m.ID, n.Name), Body: []byte(n.Text),
	}, nil
}

// describeNotation reports the media type of the notation that there is.
func describeNotation(op *huma.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: http.StatusText(http.StatusOK),
		Content:     map[string]*huma.MediaType{"application/vnd.chess-pgn": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}
}

const pngType = "image/png"

// How long a card may be kept: one that changes about a round, one that does
// not change any more a day.
const (
	cardLive  = 30 * time.Second
	cardFinal = 24 * time.Hour
)

type cardOutput struct {
	ContentType  string `header:"Content-Type"`
	CacheControl string `header:"Cache-Control"`
	Body         []byte
}

// card draws what other sites show beside a link to a match: names, points
// and round, as in the list of matches, and nothing that is sealed.
func (h *matchHandlers) card(ctx context.Context, in *IDParam) (*cardOutput, error) {
	m, err := h.visible.Match(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	l, err := h.rows.Leagues.League(ctx, m.League)
	if err != nil {
		return nil, err
	}
	state, err := h.visible.Position(ctx, m)
	if err != nil {
		return nil, err
	}
	chosen, err := h.rows.Agents.Marks(ctx)
	if err != nil {
		return nil, err
	}
	picture, err := h.draw(m, l.Title, chosen, state)
	if err != nil {
		return nil, err
	}
	return newCard(picture, m.Status.Over()), nil
}

// newCard returns the response with a picture. final reports whether the picture
// changes no more.
func newCard(picture []byte, final bool) *cardOutput {
	keep := cardLive
	if final {
		keep = cardFinal
	}
	return &cardOutput{ContentType: pngType, CacheControl: fmt.Sprintf("public, max-age=%d", int(keep.Seconds())), Body: picture}
}

// describePNG reports whether the answer is a picture.
func describePNG(op *huma.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: http.StatusText(http.StatusOK),
		Content:     map[string]*huma.MediaType{pngType: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
	}
}
