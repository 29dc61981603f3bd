package api

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/judge"
)

// judgeHandlers serve the route of a league's judge.
type judgeHandlers struct {
	rows   Rows
	health *judge.Health
}

// JudgeHealthView is the public view of arena.JudgeHealth. Huma reads
// embedded members of exported types only.
type JudgeHealthView struct {
	Versions   []string `json:"versions" doc:"Of the judge, newest first."`
	Verdicts   int      `json:"verdicts" doc:"The newest ones of judges that are asked, at most 500."`
	Ballots    int      `json:"ballots"`
	FlipRate   *float64 `json:"flip_rate" doc:"Comparisons made in both orders that came out differently, 0 to 1; null: none."`
	FirstRate  *float64 `json:"first_rate" doc:"Comparisons with a winner that were won by the answer shown first; near 0.5 is good."`
	LongerRate *float64 `json:"longer_rate" doc:"Comparisons with a winner that were won by the longer answer, in the newest 100 matches."`
	Agreement  *float64 `json:"agreement" doc:"Pairs of answers with several judges on which all of them agreed."`

	Card []arena.JudgeMeasure `json:"card" doc:"The judge's biases, over the same verdicts, and its errors on gold items; empty if it compares no answers. A rated league pauses when one is over its limit."`
}

type judgeView struct {
	League   string `json:"league"`
	Kind     string `json:"kind"`
	Criteria string `json:"criteria,omitempty" doc:"The criteria of an external judge."`
	JudgeHealthView
	CardSince *jsonTime `json:"card_since,omitempty" doc:"The card counts verdicts from then on: when the league resumed after a pause for its judge."`
}

// get answers with the quality of a league's judge.
func (h *judgeHandlers) get(ctx context.Context, in *SlugParam) (*output[judgeView], error) {
	l, err := h.rows.Leagues.League(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	health, err := h.health.Of(ctx, l)
	if err != nil {
		return nil, err
	}
	spec := l.Settings.Judge
	return answer(judgeView{
		League: l.Slug, Kind: spec.Kind, Criteria: spec.Criteria, JudgeHealthView: JudgeHealthView(health), CardSince: optionalTime(l.JudgeSince),
	})
}

const (
	voterCookie = "arena_voter"
	voterAge    = 365 * 24 * time.Hour
)

// voteHandlers serve the routes of open votes.
type voteHandlers struct {
	votes  Votes
	secret []byte // signs the names of voters' browsers
	https  bool   // the arena is served over https, so its cookies are sent over nothing else
}

type openVoteView struct {
	Round    int                 `json:"round"`
	Until    jsonTime            `json:"until" doc:"When the vote ends."`
	Criteria string              `json:"criteria" doc:"The criteria."`
	Entries  []arena.BlindAnswer `json:"entries" doc:"The answers without their authors, in an order that tells nothing."`
}

func (h *voteHandlers) ballot(ctx context.Context, in *IDParam) (*output[openVoteView], error) {
	v, ok, err := h.votes.Open(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, arena.Errorf(arena.CodeNotFound, "no vote is open on match %s", in.ID)
	}
	return answer(openVoteView{Round: v.Match.Round, Until: jsonTime(v.Until), Criteria: v.Criteria, Entries: v.Entries})
}

type voteInput struct {
	IDParam
	Body struct {
		Round  int    `json:"round" minimum:"1" doc:"Of the ballot."`
		Better string `json:"better" minLength:"1" maxLength:"3" example:"A" doc:"The label of the better answer, or tie."`
		Other  string `json:"other,omitempty" maxLength:"3" example:"B" doc:"The label of the answer that it was compared with; of a tie both, as in \"A B\". May be left out when there are two."`
	} `nameHint:"VoteBody"`
	address, cookie string
}

// Resolve sets the voter's identity from the browser's cookie and the address.
func (in *voteInput) Resolve(ctx huma.Context) []error {
	in.address = clientIP(ctx)
	if c, err := huma.ReadCookie(ctx, voterCookie); err == nil {
		in.cookie = c.Value
	}
	return nil
}

type voteView struct {
	Round  int    `json:"round"`
	Better string `json:"better"`
	Other  string `json:"other"`
}

type votedOutput struct {
	SetCookie string `header:"Set-Cookie" doc:"Names the browser, when it had no name."`
	Body      voteView
}

// vote counts one vote and names the browser if it has no name and needs one.
func (h *voteHandlers) vote(ctx context.Context, in *voteInput) (*votedOutput, error) {
	name, known := h.voterOf(in.cookie)
	if !known {
		name = rand.Text()
	}
	counted, err := h.votes.Cast(ctx, callerOf(ctx), arena.CastVote{
		MatchID: in.ID, Round: in.Body.Round, Better: in.Body.Better, Other: in.Body.Other, Voter: name, Address: in.address,
	})
	if err != nil {
		return nil, err
	}
	out := &votedOutput{Body: voteView{Round: in.Body.Round, Better: in.Body.Better, Other: counted.Other}}
	if counted.ByName && !known {
		out.SetCookie = h.nameVoter(name)
	}
	return out, nil
}

type guessInput struct {
	IDParam
	Round int `path:"n" minimum:"1"`
	Body  struct {
		Answer string `json:"answer" minLength:"1" maxLength:"1" example:"B" doc:"The letter of an option of the open round: A for the first."`
	} `nameHint:"GuessBody"`
	address string
}

// Resolve sets the address.
func (in *guessInput) Resolve(ctx huma.Context) []error {
	in.address = clientIP(ctx)
	return nil
}

func (h *voteHandlers) guess(ctx context.Context, in *guessInput) (*empty, error) {
	return &empty{}, h.votes.Guess(ctx, arena.Guess{MatchID: in.ID, Round: in.Round, Answer: in.Body.Answer, Address: in.address})
}

type guessesView struct {
	Items []guessedRoundView `json:"items" doc:"Closed rounds that spectators answered, oldest first."`
}

type guessedRoundView struct {
	Round   int            `json:"round"`
	Answers map[string]int `json:"answers" doc:"How many spectators gave each answer, by the letter of the option."`
}

func (h *voteHandlers) guesses(ctx context.Context, in *IDParam) (*output[guessesView], error) {
	counts, err := h.votes.Guesses(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	v := guessesView{Items: []guessedRoundView{}}
	for _, c := range counts {
		if n := len(v.Items); n == 0 || v.Items[n-1].Round != c.Round {
			v.Items = append(v.Items, guessedRoundView{Round: c.Round, Answers: map[string]int{}})
		}
		v.Items[len(v.Items)-1].Answers[c.Answer] = c.N
	}
	return answer(v)
}

// voterOf returns the name in a cookie that nameVoter made. A caller with any
// other cookie counts as a new voter of its address.
func (h *voteHandlers) voterOf(cookie string) (name string, ok bool) {
	name, sum, _ := strings.Cut(cookie, ".")
	return name, name != "" && subtle.ConstantTimeCompare([]byte(sum), []byte(h.signVoter(name))) == 1
}

func (h *voteHandlers) signVoter(name string) string {
	mac := hmac.New(sha256.New, h.secret)
	mac.Write([]byte(name)) // never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (h *voteHandlers) nameVoter(name string) string {
	c := http.Cookie{ //nolint:gosec // G124: an arena on http has no secure cookies
		Name: voterCookie, Value: name + "." + h.signVoter(name), Path: "/v1/matches", MaxAge: int(voterAge / time.Second),
		HttpOnly: true, Secure: h.https, SameSite: http.SameSiteLaxMode,
	}
	return c.String()
}

// judgeBody is a judge with its settings.
type judgeBody struct {
	Kind          string   `json:"kind" maxLength:"20" example:"number" doc:"exact, choice, number, regex, set, json, code, panel, crowd or model."`
	Tolerance     float64  `json:"tolerance,omitempty" minimum:"0" maximum:"1000000000" doc:"number, json: the difference that is still right."`
	Partial       bool     `json:"partial,omitempty" doc:"set, code: points for partly right answers."`
	Match         string   `json:"match,omitempty" enum:"strict" doc:"exact, choice, set: strict compares texts as they are written. Without it, case and the punctuation of prose do not matter."`
	Agents        []string `json:"agents,omitempty" maxItems:"9" maxLength:"64" doc:"panel: the judge agents."`
	Criteria      string   `json:"criteria,omitempty" maxLength:"2000" doc:"panel, crowd, model: what to judge by."`
	Gold          string   `json:"gold,omitempty" maxLength:"64" doc:"model: a pack of pairs of answers of which one is right. The judge is asked about them now and then, and the league pauses if it is wrong too often."`
	WindowSeconds float64  `json:"window_seconds,omitempty" minimum:"0" maximum:"600" doc:"crowd: how long votes are taken."`
	MinVotes      int      `json:"min_votes,omitempty" minimum:"0" maximum:"1000" doc:"crowd: fewer void the round."`
	VoterAccounts bool     `json:"voter_accounts,omitempty" doc:"crowd: a vote needs the token of an owner, who has one vote in a round. A rated league needs it."`
}

func (b judgeBody) spec() arena.JudgeSpec {
	return arena.JudgeSpec{
		Kind: b.Kind, Tolerance: b.Tolerance, Partial: b.Partial, Match: b.Match, Agents: b.Agents, Criteria: b.Criteria, Gold: b.Gold,
		Window: limitOf(b.WindowSeconds), MinVotes: b.MinVotes, VoterAccounts: b.VoterAccounts,
	}
}

func viewJudge(s arena.JudgeSpec) judgeBody {
	return judgeBody{
		Kind: s.Kind, Tolerance: s.Tolerance, Partial: s.Partial, Match: s.Match, Agents: s.Agents, Criteria: s.Criteria, Gold: s.Gold,
		WindowSeconds: s.Window.Seconds(), MinVotes: s.MinVotes, VoterAccounts: s.VoterAccounts,
	}
}

// judgeInput is a judge in a request: an object {kind, …}, or the kind alone.
type judgeInput struct{ judgeBody }

// UnmarshalJSON reads either form.
func (j *judgeInput) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(`"`)) {
		return strictjson.Unmarshal(data, &j.Kind)
	}
	return strictjson.UnmarshalWhole(data, &j.judgeBody)
}

// Schema is either form.
func (judgeInput) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "How answers are judged: an object, or the kind alone.",
		OneOf: []*huma.Schema{
			{Type: huma.TypeString, Examples: []any{arena.JudgeChoice}},
			r.Schema(reflect.TypeFor[judgeBody](), true, "Judge"),
		},
	}
}
