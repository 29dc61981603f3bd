package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/scoring"
)

// EvalCmd is `arena eval`.
type EvalCmd struct {
	Agent       string   `arg:"" placeholder:"AGENT" help:"The agent: [NAME=][PROTOCOL=]URL, exec:CMD, model:NAME, or another form of arena play."`
	Protocol    string   `default:"aap" enum:"aap,agora,envelope,agentprotocol,a2a" help:"Of an agent without a PROTOCOL: ${enum}."`
	League      string   `required:"" placeholder:"SLUG" help:"The league whose game or generator, judge, limits and rules are used. A league of questions needs its pack too."`
	URL         string   `name:"url" placeholder:"URL" help:"The arena of the league (ARENA_URL, else the current context, else http://127.0.0.1:8080)."`
	Pack        string   `placeholder:"FILE" help:"Tasks to play, each once."`
	PackFormat  string   `default:"auto" enum:"auto,jsonl,csv,opentriviaqa,opentdb,gsm8k,mmlu,arc,aqua,bigbench" help:"Format of the pack: ${enum}; auto is what the file looks like."`
	Opponent    []string `placeholder:"NAME" sep:"," help:"Built-in opponent; repeatable. In games: random, greedy, search, minimax, bluffer; else p0 to p100, which know so many percent of the answers. Without it: random, greedy and search, or p30, p60 and p90."`
	Matches     int      `default:"30" placeholder:"N" help:"Matches, 1 to 500, with the rounds or games of the league; fewer if the pack has no more tasks."`
	Concurrency int      `default:"4" placeholder:"N" help:"Matches at once, 1 to 64; fewer if the agent takes fewer."`
	Seed        *uint64  `placeholder:"N" help:"Seed of the order of tasks, of generated tasks and of the deals; without, a secret one."`
	Addr        string   `default:"127.0.0.1:8088" placeholder:"HOST:PORT" help:"Where keys and stream are for the agent while the matches run; port 0 takes a free one."`
	LocalFlags
	SourceFlags
	JSON bool `name:"json" help:"Print the report as one JSON object, and progress to standard error."`
}

// Help shows the command at work.
func (c *EvalCmd) Help() string {
	return `Plays matches of a league on this machine against built-in opponents of constant
strength, and reports how often the agent is right, by topic and with intervals, and every
round that it lost: the numbers that its page in the arena would show. Nothing is
registered anywhere and no rating moves.

    arena eval --league four --url https://arena.example exec:./agent
    arena eval --league arithmetic --matches 50 model:gpt-4.1-mini
    arena eval --league trivia --pack questions.jsonl --opponent p60 --json http://127.0.0.1:8700/agora`
}

// mostEvalMatches is the number of an agent's newest matches that its losses and
// topics are counted in.
const mostEvalMatches = 500

// Validate refuses numbers beyond the limits.
func (c *EvalCmd) Validate() error {
	switch {
	case c.Matches < 1 || c.Matches > mostEvalMatches:
		return fmt.Errorf("--matches must be 1 to %d", mostEvalMatches)
	case c.Concurrency < 1 || c.Concurrency > mostConcurrency:
		return fmt.Errorf("--concurrency must be 1 to %d", mostConcurrency)
	}
	return nil
}

// Run plays the matches and prints the report.
func (c *EvalCmd) Run(app *App) (err error) {
	p, err := TaskFlags{Pack: c.Pack, PackFormat: c.PackFormat}.plan(app, c.League, c.URL, c.Seed, 0)
	if err != nil {
		return err
	}
	seed := seedOf(c.Seed)
	if err := p.generate(c.Matches, seed); err != nil {
		return err
	}
	all := contestants{everyMatch: true}
	defer func() { err = errors.Join(err, all.close()) }()
	if err := all.add(app, c.Agent, c.Protocol, c.SourceFlags, p.game, seed); err != nil {
		return err
	}
	names := c.Opponent
	if len(names) == 0 {
		names = opponentsOf(p)
	}
	for _, name := range names {
		answer, err := all.opponent(name, p)
		if err != nil {
			return fmt.Errorf("--opponent: %w", err)
		}
		if err := all.addBuiltIn(app.Ctx, name, answer); err != nil {
			return err
		}
	}
	notes := app.Stdout
	if c.JSON {
		notes = app.Stderr
	}
	local, err := startLocal(app, notes, c.Addr, c.LocalFlags, all.targets, seedsOf(c.Seed))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.close()) }()
	if err := all.serve(app.Ctx, local, c.Concurrency); err != nil {
		return err
	}
	made, err := all.register(app.Ctx, local)
	if err != nil {
		return err
	}
	if err := p.choose(made); err != nil {
		return err
	}
	if err := p.open(app.Ctx, local, TaskFlags{Pack: c.Pack, PackFormat: c.PackFormat}, app.Now()); err != nil {
		return err
	}
	e := evaluation{localMatches: newLocalMatches(local, p, made, c.Matches, c.Concurrency, app.Now), id: made[0].ID, agents: &all, notes: notes}
	e.seats = func(n int) [2]string { return [2]string{made[1+n/2%len(names)].ID, e.id} } // each opponent in both seats
	e.waits = func(err error) { e.note("waiting: %s", plaintext.Terminal(err.Error())) }
	e.note("%s plays %d matches of %s against %s", all.targets[0].name, e.limit, p.what, strings.Join(names, ", "))
	report, err := e.play(app.Ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return app.JSON(report)
	}
	return report.print(app.Stdout)
}

// evaluation is an evaluation under way.
type evaluation struct {
	localMatches

	id     string // of the agent
	agents *contestants
	notes  io.Writer

	matches, failed int
	asked           int
	missed          map[string]int
	tokens          int64
	answers         map[string][]scoring.Trial // by topic
}

func (e *evaluation) note(format string, args ...any) {
	_, _ = fmt.Fprintf(e.notes, format+"\n", args...) // progress
}

// play plays the matches and returns the report.
func (e *evaluation) play(ctx context.Context) (report evalReport, err error) {
	e.missed, e.answers = map[string]int{}, map[string][]scoring.Trial{}
	began, mark := e.now(), 1
	broken := func(least int) bool {
		n := 0
		for _, count := range e.missed {
			n += count
		}
		return e.asked >= least && 2*n > e.asked
	}
	err = e.run(ctx, func(n int, p played) (over bool, err error) {
		if e.matches++; p.void != "" {
			e.failed++
		} else {
			e.answer(n, p)
		}
		e.asked += p.asked[1]
		e.tokens += p.tokens[1]
		for outcome, n := range p.missed[1] {
			e.missed[outcome] += n
		}
		if e.matches == mark {
			mark *= 2
			e.note("%d of %d matches", e.matches, e.limit)
		}
		return broken(fewestAsked), nil
	})
	if err == nil && broken(1) {
		err = fmt.Errorf("%s did not answer %s of %d %s; the last because: %s", e.agents.targets[0].name, counts(e.missed), e.asked, e.plan.asked(),
			plaintext.Terminal(e.agents.lastFailure(ctx, e.local, 0, e.id)))
	}
	if err == nil && e.failed == e.matches {
		err = errors.New("no match gave a result")
	}
	if err != nil {
		return report, err
	}
	report = evalReport{
		Agent: e.agents.targets[0].name, Played: e.plan.what, Matches: e.matches, Failed: e.failed, Missed: e.missed, Tokens: e.tokens, Seconds: e.now().Sub(began).Seconds(),
	}
	err = report.read(ctx, e.local, e.id)
	e.cluster(&report.Topics)
	return report, err
}

// answer keeps the answers of a match.
func (e *evaluation) answer(match int, p played) {
	for _, u := range p.units {
		if u.answered[1] && e.plan.game == "" {
			t := scoring.Trial{Match: strconv.Itoa(match)}
			if u.points[1] == 1 {
				t.Score = 1
			}
			e.answers[u.topic] = append(e.answers[u.topic], t)
		}
	}
}

// cluster replaces the intervals of shares of right answers, which the arena computes as
// if no answers depended on each other, by those that are clustered by match.
func (e *evaluation) cluster(topics *evalTopics) {
	var all []scoring.Trial
	for i := range topics.Items {
		trials := e.answers[topics.Items[i].Topic]
		topics.Items[i].cluster(trials)
		all = append(all, trials...)
	}
	topics.Total.cluster(all)
}

func (s *evalShare) cluster(trials []scoring.Trial) {
	share, matches := scoring.ShareByMatch(trials)
	s.Low, s.High, s.Matches, s.TooFew = share.Low, share.High, matches, matches < scoring.MinCompared
}

// evalReport is the result of an evaluation, as --json prints it. Topics, Games,
// Outcomes and Losses have the form of the API.
type evalReport struct {
	Agent   string         `json:"agent"`
	Played  string         `json:"played"`
	Matches int            `json:"matches"`
	Failed  int            `json:"failed"` // without a result
	Missed  map[string]int `json:"missed"` // tasks or moves that were not answered, by outcome
	Tokens  int64          `json:"tokens"` // that the agent declared
	Seconds float64        `json:"seconds"`

	Opponents []evalOpponent    `json:"opponents"`
	Topics    evalTopics        `json:"topics"`   // GET /v1/agents/{id}/topics, with intervals by match
	Outcomes  json.RawMessage   `json:"outcomes"` // GET /v1/agents/{id}/outcomes
	Losses    []json.RawMessage `json:"losses"`   // GET /v1/agents/{id}/losses, all of them
}

// evalOpponent is the result against an opponent, with the share of won matches and
// its 95 % interval of Wilson.
type evalOpponent struct {
	Name    string  `json:"name"`
	Matches int     `json:"matches"`
	Wins    int     `json:"wins"`
	Draws   int     `json:"draws"`
	Losses  int     `json:"losses"`
	Share   float64 `json:"share"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

// read reads what the arena of the matches has counted.
func (r *evalReport) read(ctx context.Context, local *localArena, id string) error {
	get := func(path string, out any) error {
		return local.admin.Call(ctx, http.MethodGet, "/v1/agents/"+id+path, nil, out)
	}
	var opponents struct {
		Items []evalOpponent `json:"items"`
	}
	if err := errors.Join(get("/opponents?limit=100", &opponents), get("/topics", &r.Topics), get("/outcomes", &r.Outcomes)); err != nil {
		return err
	}
	r.Opponents = opponents.Items
	for i := range r.Opponents {
		o := &r.Opponents[i]
		share := arena.ShareOf(o.Wins, o.Matches)
		o.Share, o.Low, o.High = share.Share, share.Low, share.High
	}
	r.Losses = []json.RawMessage{}
	for cursor := ""; ; {
		var page struct {
			Items []json.RawMessage `json:"items"`
			Next  string            `json:"next_cursor"`
		}
		if err := get("/losses?"+url.Values{"limit": {"100"}, "cursor": {cursor}}.Encode(), &page); err != nil {
			return err
		}
		r.Losses = append(r.Losses, page.Items...)
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
}

// evalTopics and evalOutcomes are what is printed of the API's answers.
type (
	evalShare struct {
		Topic    string  `json:"topic,omitempty"`
		Answered int     `json:"answered"`
		Right    int     `json:"right"`
		Share    float64 `json:"share"`
		Low      float64 `json:"low"`
		High     float64 `json:"high"`
		Matches  int     `json:"matches"`           // with such an answer
		TooFew   bool    `json:"too_few,omitempty"` // matches for an interval that means something
	}
	evalTopics struct {
		Items []evalShare `json:"items"`
		Total evalShare   `json:"total"`
	}
	evalOutcomes struct {
		Items []struct {
			Result string  `json:"result"`
			Rounds int     `json:"rounds"`
			MeanMS float64 `json:"mean_ms"`
		} `json:"items"`
		Games []struct {
			Games struct {
				All struct {
					Games  int `json:"games"`
					Wins   int `json:"wins"`
					Draws  int `json:"draws"`
					Losses int `json:"losses"`
				} `json:"all"`
				Illegal  int `json:"illegal_moves"`
				Timeouts int `json:"timeouts"`
			} `json:"games"`
		} `json:"games"`
	}
	evalLoss struct {
		Topic       string `json:"topic"`
		Description string `json:"description"`
		Answer      string `json:"answer"`
		Correct     string `json:"correct"`
		Outcome     string `json:"outcome"`
		Reason      string `json:"reason"`
	}
)

// print writes the report as tables.
func (r evalReport) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...any) {
		for i, cell := range cells {
			if i > 0 {
				_, _ = io.WriteString(t, "\t")
			}
			_, _ = io.WriteString(t, plaintext.Shorten(plaintext.Terminal(fmt.Sprint(cell)), 60)) // Flush returns the error
		}
		_, _ = io.WriteString(t, "\n")
	}
	section := func(cells ...any) {
		_ = t.Flush() // the last one returns the error
		_, _ = io.WriteString(t, "\n")
		row(cells...)
	}
	percent := func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }
	interval := func(low, high float64) string { return fmt.Sprintf("%.0f–%.0f %%", 100*low, 100*high) }
	section("OPPONENT", "MATCHES", "WON", "DRAWN", "LOST", "SHARE WON", "95 % INTERVAL")
	for _, o := range r.Opponents {
		row(o.Name, o.Matches, o.Wins, o.Draws, o.Losses, percent(o.Share), interval(o.Low, o.High))
	}
	var outcomes evalOutcomes
	if err := json.Unmarshal(r.Outcomes, &outcomes); err != nil {
		return err
	}
	if topics := r.Topics; len(topics.Items) > 0 {
		section("TOPIC", "ANSWERS", "RIGHT", "SHARE", "95 % INTERVAL")
		topics.Total.Topic = "all"
		for _, v := range append(topics.Items, topics.Total) {
			reach := interval(v.Low, v.High)
			if v.TooFew {
				reach = "too few"
			}
			row(cmp.Or(v.Topic, "–"), v.Answered, v.Right, percent(v.Share), reach)
		}
	}
	for _, l := range outcomes.Games { // of one league
		section("GAMES", "WON", "DRAWN", "LOST", "WITH ILLEGAL MOVES", "TIMEOUTS")
		row(l.Games.All.Games, l.Games.All.Wins, l.Games.All.Draws, l.Games.All.Losses, l.Games.Illegal, l.Games.Timeouts)
	}
	section("RESULT", "ROUNDS", "MEAN TIME")
	for _, o := range outcomes.Items {
		row(strings.ReplaceAll(o.Result, "_", " "), o.Rounds, time.Duration(o.MeanMS*float64(time.Millisecond)).Round(time.Millisecond))
	}
	if len(r.Losses) > 0 {
		section("LOST: TOPIC", "QUESTION", "ANSWER", "RIGHT", "RESULT")
	}
	for _, raw := range r.Losses {
		var l evalLoss
		if err := json.Unmarshal(raw, &l); err != nil {
			return err
		}
		how := cmp.Or(l.Reason, l.Outcome)
		if how == string(arena.OutcomeAnswered) {
			how = "wrong"
		}
		row(cmp.Or(l.Topic, "–"), l.Description, l.Answer, l.Correct, how)
	}
	if r.Failed > 0 {
		section(matches(r.Failed) + " without a result")
	}
	if r.Tokens > 0 {
		section(fmt.Sprintf("%d tokens, as the agent declared", r.Tokens))
	}
	return t.Flush()
}
