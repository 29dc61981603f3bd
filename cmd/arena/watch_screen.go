package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/internal/cli"
	"github.com/agora-arena/arena/internal/plaintext"
)

// eventWords are the members of all events that are shown.
type eventWords struct {
	League           string          `json:"league"`
	Rated            bool            `json:"rated"`
	TotalRounds      *int            `json:"total_rounds"`
	StartsAt         string          `json:"starts_at"`
	TimeLimitSeconds float64         `json:"time_limit_seconds"`
	Message          string          `json:"message"`
	Name             string          `json:"name"`
	Role             string          `json:"role"`
	Tool             string          `json:"tool"`
	Args             json.RawMessage `json:"args"`
	Result           json.RawMessage `json:"result"`
	Data             json.RawMessage `json:"data"`
	Value            json.RawMessage `json:"value"`
	Final            bool            `json:"final"`
	Fatal            bool            `json:"fatal"`
	Answer           string          `json:"answer"`
	Outcome          string          `json:"outcome"`
	Reason           string          `json:"reason"`
	Until            string          `json:"until"`
	Correct          string          `json:"correct"`
	DurationMS       float64         `json:"duration_ms"`
	ElapsedMS        float64         `json:"elapsed_ms"`
	Commitment       string          `json:"commitment"`
	Task             struct {
		Description string   `json:"description"`
		Options     []string `json:"options"`
		Topic       string   `json:"topic"`
	} `json:"task"`
	Events []struct {
		Seq     int64           `json:"seq"`
		AgentID string          `json:"agent_id"`
		Hidden  json.RawMessage `json:"hidden"`
	} `json:"events"`
	gameWords
	Seats         []seatWords `json:"seats"`
	RatingChanges []struct {
		AgentID string  `json:"agent_id"`
		After   float64 `json:"rating_after"`
		Delta   float64 `json:"rating_delta"`
	} `json:"rating_changes"`
}

// seatWords are the members of a seat in any event.
type seatWords struct {
	AgentID string  `json:"agent_id"`
	Name    string  `json:"name"`
	Answer  *string `json:"answer"`
	Points  float64 `json:"points"`
	Outcome string  `json:"outcome"`
	Place   int     `json:"place"`
	State   string  `json:"state"`
	Over    bool    `json:"over_max_tokens"`
	Reason  string  `json:"reason"`
}

// words reads the event's own members. A member of another form stays empty.
func (e liveEvent) words() eventWords {
	var w eventWords
	_ = json.Unmarshal(e.raw, &w)
	return w
}

// screen writes a match as lines of text.
type screen struct {
	out   io.Writer
	style cli.Style
	names map[string]string // by agent id
	round roundMarks
	game  gameScreen
	err   error // the first failed write
}

const (
	nameWidth = 18
	textWidth = 160
)

func (s *screen) line(paint, format string, args ...any) {
	if s.err != nil {
		return
	}
	text := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	_, s.err = io.WriteString(s.out, s.style.Paint(paint, text)+"\n")
}

// text returns untrusted text for display.
func (s *screen) text(v string) string { return plaintext.Shorten(plaintext.Terminal(v), textWidth) }

// raw returns untrusted JSON for display.
func (s *screen) raw(v json.RawMessage) string {
	var plain string
	if json.Unmarshal(v, &plain) == nil {
		return s.text(plain)
	}
	var value any
	if json.Unmarshal(v, &value) != nil {
		return ""
	}
	// Decoded and encoded again: an escaped character must not slip through.
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(value) != nil {
		return ""
	}
	return s.text(b.String())
}

func (s *screen) name(agentID string) string {
	name := s.names[agentID]
	if name == "" {
		name = plaintext.Terminal(agentID)
	}
	return plaintext.Shorten(name, nameWidth)
}

func (s *screen) learn(w eventWords) (names []string) {
	for _, seat := range w.Seats {
		if seat.Name != "" {
			s.names[seat.AgentID] = plaintext.Terminal(seat.Name)
		}
		names = append(names, s.name(seat.AgentID))
	}
	return names
}

// show writes one event.
func (s *screen) show(e liveEvent) {
	w := e.words()
	s.round.note(e, w)
	switch e.Type {
	case "match_scheduled":
		s.line(cli.Bold, "%s in %s: %s", plaintext.Terminal(e.MatchID), plaintext.Terminal(w.League), strings.Join(s.learn(w), " · "))
	case "match_started":
		s.learn(w)
		rounds, rated := "open end", "unrated"
		if w.TotalRounds != nil {
			rounds = strconv.Itoa(*w.TotalRounds) + " rounds"
		}
		if w.Game.Name != "" {
			rounds = strconv.Itoa(w.Game.Games) + " games of " + s.text(w.Game.Name)
		}
		if w.Rated {
			rated = "rated"
		}
		s.line(cli.Dim, "%s  started, %s, %s", clock(e.TS), rounds, rated)
	case "round_started":
		if len(w.State) > 0 {
			s.turn(e, w)
			return
		}
		s.line(cli.None, "")
		s.line(cli.Cyan, "%s  round %d: %s  (%s)", clock(e.TS), e.Round, s.text(w.Task.Description), seconds(1000*w.TimeLimitSeconds))
		for i, o := range w.Task.Options {
			s.line(cli.Dim, "          %c) %s", 'A'+rune(i%26), s.text(o))
		}
	case "seat_outcome":
		s.outcome(e, w)
	case "round_closed":
		s.closed(e, w)
	case "match_finished":
		s.finished(e, w)
	case "match_void":
		s.line(cli.Red, "%s  void: %s", clock(e.TS), s.text(w.Reason))
	case "agent_paused", "agent_resumed", "agent_left":
		s.line(cli.Dim, "%s  %-*s  %s: %s", clock(e.TS), nameWidth, s.name(e.AgentID), strings.TrimPrefix(e.Type, "agent_"), s.text(w.Reason))
	case "hello", "viewers", "reveal": // round_closed shows what was revealed
	default:
		s.agent(e, w)
	}
}

// agent writes an event that an agent sent. In a sealed match most of it is still
// hidden.
func (s *screen) agent(e liveEvent, w eventWords) {
	var what string
	switch e.Type {
	case "thinking":
		what = s.text(w.Message)
	case "spawn_subagent":
		what = s.text(strings.TrimSpace(w.Name + "  " + w.Role))
	case "tool_call":
		what = s.text(w.Tool) + " " + s.raw(w.Args)
	case "tool_response":
		what = s.raw(w.Result)
	case "subagent_done":
		what = s.text(w.Name)
	case "intermediate_result":
		what = s.raw(w.Data)
	case "answer":
		what = s.raw(w.Value)
	case "error":
		what = s.text(w.Message)
	}
	what = strings.TrimSpace(what)
	if what == "" && w.Commitment != "" {
		what = "(sealed)"
	}
	if w.DurationMS > 0 {
		what = strings.TrimSpace(what + "  " + seconds(w.DurationMS))
	}
	s.line(cli.Dim, "%s  %-*s  %s: %s", clock(e.TS), nameWidth, s.name(e.AgentID), plaintext.Terminal(strings.ReplaceAll(e.Type, "_", " ")), what)
}

func (s *screen) outcome(e liveEvent, w eventWords) {
	if s.game.game > 0 && w.Outcome == "answered" && w.Reason == "" {
		return // the move is shown when the turn closes
	}
	paint, what := cli.None, w.Outcome
	if w.Outcome != "answered" {
		paint = cli.Red
	}
	if w.Reason != "" {
		what += " (" + w.Reason + ")"
	}
	if w.Answer != "" {
		what += ": " + w.Answer
	}
	s.line(paint, "%s  %-*s  %s after %s", clock(e.TS), nameWidth, s.name(e.AgentID), s.text(what), seconds(w.ElapsedMS))
}

func (s *screen) closed(e liveEvent, w eventWords) {
	if len(w.State) > 0 {
		s.moved(e, w)
		return
	}
	s.line(cli.Cyan, "%s  round %d closed: %s", clock(e.TS), e.Round, s.text(w.Correct))
	for _, seat := range w.Seats {
		paint, answer := cli.Red, seat.Outcome
		if seat.Points > 0 {
			paint = cli.Green
		}
		if seat.Answer != nil {
			answer = *seat.Answer
		}
		s.line(paint, "          %-*s  %5s  %s", nameWidth, s.name(seat.AgentID), points(seat.Points), s.text(answer))
		for _, mark := range s.round.of(seat) {
			s.line(cli.Dim, "          %-*s         %s", nameWidth, "", s.text(mark))
		}
	}
}

func (s *screen) finished(e liveEvent, w eventWords) {
	s.learn(w)
	ratings := map[string]string{}
	for _, c := range w.RatingChanges {
		ratings[c.AgentID] = fmt.Sprintf("%.0f (%+.1f)", c.After, c.Delta)
	}
	s.line(cli.None, "")
	s.line(cli.Bold, "%s  finished", clock(e.TS))
	// Who left has no place and stands last.
	slices.SortStableFunc(w.Seats, func(a, b seatWords) int { return cmp.Compare(uint(a.Place-1), uint(b.Place-1)) })
	for _, seat := range w.Seats {
		place := "–"
		if seat.Place > 0 {
			place = strconv.Itoa(seat.Place)
		}
		if seat.State == "left" {
			place = "left"
		}
		s.line(cli.None, "%6s  %-*s  %6s  %s", place, nameWidth, s.name(seat.AgentID), points(seat.Points), ratings[seat.AgentID])
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

func seconds(ms float64) string { return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s" }

func points(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) }

// claims are an agent's claims about its own answer.
type claims struct {
	Tokens    *int64   `json:"tokens"`
	LatencyMS *float64 `json:"latency_ms"`
	Tools     []string `json:"tools_used"`
	Subagents []string `json:"subagents_used"`
}

func (c claims) String() string {
	var parts []string
	if c.Tokens != nil {
		parts = append(parts, fmt.Sprintf("%d tokens", *c.Tokens))
	}
	if c.LatencyMS != nil {
		parts = append(parts, seconds(*c.LatencyMS))
	}
	if len(c.Tools) > 0 {
		parts = append(parts, "tools "+strings.Join(c.Tools, " "))
	}
	if len(c.Subagents) > 0 {
		parts = append(parts, "subagents "+strings.Join(c.Subagents, " "))
	}
	return strings.Join(parts, ", ")
}

// roundMarks collects what is shown beside the answers when a round closes.
type roundMarks struct {
	no       int
	claims   map[string]claims // by agent
	declined map[string]string // by agent: why its offer was declined
	events   []agentEvent
}

// agentEvent is an event that an agent reported. last means that the agent
// announced no more after it.
type agentEvent struct {
	seq   int64
	agent string
	last  bool
}

// note collects from one event.
func (m *roundMarks) note(e liveEvent, w eventWords) {
	if e.Type == "round_started" {
		*m = roundMarks{no: e.Round, claims: map[string]claims{}, declined: map[string]string{}}
	}
	if m.claims == nil || e.Round != m.no {
		return
	}
	switch e.Type {
	case "thinking", "spawn_subagent", "tool_call", "tool_response", "subagent_done", "intermediate_result", "answer", "error":
		m.events = append(m.events, agentEvent{e.Seq, e.AgentID, w.Final || w.Fatal})
	case "seat_outcome":
		m.claim(e.AgentID, e.raw)
		switch w.Reason {
		case "offer_price", "offer_late", "offer_expired":
			m.declined[e.AgentID] = strings.TrimPrefix(w.Reason, "offer_")
		}
	case "reveal":
		for _, r := range w.Events {
			m.claim(r.AgentID, r.Hidden)
			var hidden struct{ Final, Fatal bool }
			_ = json.Unmarshal(r.Hidden, &hidden) // anything else has no such members
			for i := range m.events {
				if m.events[i].seq == r.Seq && (hidden.Final || hidden.Fatal) {
					m.events[i].last = true
				}
			}
		}
	}
}

// claim notes the claims in an outcome, if there are any.
func (m *roundMarks) claim(agent string, outcome json.RawMessage) {
	var c claims
	_ = json.Unmarshal(outcome, &c) // a member of another type is no claim
	if c.String() != "" {
		m.claims[agent] = c
	}
}

// of returns the marks of a seat.
func (m *roundMarks) of(seat seatWords) (marks []string) {
	if seat.Over {
		mark := "over max_tokens"
		if seat.Reason == "token_limit" {
			mark += ", no points"
		}
		marks = append(marks, mark)
	}
	if why := m.declined[seat.AgentID]; why != "" {
		marks = append(marks, "offer declined: "+why)
	}
	if c, ok := m.claims[seat.AgentID]; ok {
		marks = append(marks, "its own claim: "+c.String())
	}
	after, ended := 0, false
	for _, e := range m.events {
		if e.agent != seat.AgentID {
			continue
		}
		if ended {
			after++
		}
		ended = ended || e.last
	}
	if after > 0 {
		marks = append(marks, fmt.Sprintf("events after its final one: %d", after))
	}
	return marks
}
