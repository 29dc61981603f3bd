package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/agora-arena/arena/internal/plaintext"
)

// logPause is the time between two reads of a log that is followed.
const logPause = 2 * time.Second

type agentLogsCmd struct {
	oneAgent

	Limit   int    `short:"n" default:"20" help:"Number of requests, 1 to 100."`
	Outcome string `enum:",answered,timeout,rate_limited,error,unavailable,invalid,void" default:"" placeholder:"OUTCOME" help:"Only with this outcome: answered, timeout, rate_limited, error, unavailable, invalid or void."`
	Match   string `placeholder:"MATCH" help:"Only of this match."`
	Time    string `enum:"relative,absolute" default:"relative" help:"Times: relative or absolute."`
	Follow  bool   `short:"f" help:"Print new requests as they come, until Ctrl-C; oldest first."`
}

// delivery is one request to an agent.
type delivery struct {
	ID        string    `json:"delivery_id"`
	League    string    `json:"league"`
	MatchID   string    `json:"match_id"`
	Round     int       `json:"round"`
	Attempt   int       `json:"attempt"`
	Status    int       `json:"status"`
	Outcome   string    `json:"outcome"`
	Reason    string    `json:"reason"`
	Detail    string    `json:"detail"`
	SentAt    time.Time `json:"sent_at"`
	ElapsedMS float64   `json:"elapsed_ms"`
}

func (c *agentLogsCmd) Run(p *Process, group *AgentCmd) error {
	switch {
	case c.Follow && group.JSON:
		return errors.New("--follow and --json can't be used together")
	case c.Limit < 1 || c.Limit > 100:
		return errors.New("--limit must be between 1 and 100")
	}
	s, found, err := group.ownAgent(p, c.Agent)
	if err != nil {
		return err
	}
	q := url.Values{"limit": {fmt.Sprint(c.Limit)}}
	for key, value := range map[string]string{"outcome": c.Outcome, "match": c.Match} {
		if value != "" {
			q.Set(key, value)
		}
	}
	path := agentPath(found.ID, "/deliveries?")
	if c.Follow {
		return c.follow(s, path, q)
	}
	answer, err := s.call(http.MethodGet, path+q.Encode(), nil)
	if err != nil || group.JSON {
		return errors.Join(err, p.raw(answer))
	}
	items, err := s.deliveries(answer)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return p.print("no requests yet\n")
	}
	t := c.table(p)
	c.add(p, t, items)
	return t.print()
}

// agentLossesCmd is `arena agent losses`.
type agentLossesCmd struct {
	oneAgent

	Limit   int    `short:"n" default:"20" help:"Number of rounds, 1 to 100."`
	League  string `placeholder:"SLUG" help:"Only in this league."`
	Topic   string `placeholder:"TOPIC" help:"Only questions of this topic."`
	Version string `placeholder:"VERSION" help:"Only matches of this version of the agent."`
	Topics  bool   `help:"Show how often it is right, by topic, with the 95 % interval."`
}

func (c *agentLossesCmd) Run(p *Process, group *AgentCmd) error {
	switch {
	case c.Limit < 1 || c.Limit > 100:
		return errors.New("--limit must be between 1 and 100")
	case c.Topics && c.Topic != "":
		return errors.New("--topics and --topic can't be used together")
	}
	s, err := group.session(p)
	if err != nil {
		return err
	}
	found, err := s.find(c.Agent)
	if err != nil {
		return err
	}
	q := url.Values{}
	for key, value := range map[string]string{"league": c.League, "topic": c.Topic, "version": c.Version} {
		if value != "" {
			q.Set(key, value)
		}
	}
	list := "/topics?"
	if !c.Topics {
		list = "/losses?"
		q.Set("limit", strconv.Itoa(c.Limit))
	}
	answer, err := s.call(http.MethodGet, agentPath(found.ID, list)+q.Encode(), nil)
	switch {
	case err != nil || group.JSON:
		return errors.Join(err, p.raw(answer))
	case c.Topics:
		return c.topics(s, answer)
	}
	return c.losses(s, answer)
}

func (c *agentLossesCmd) losses(s *session, answer json.RawMessage) error {
	var page struct {
		Items []struct {
			At          time.Time `json:"at"`
			League      string    `json:"league"`
			Topic       string    `json:"topic"`
			Description string    `json:"description"`
			Answer      string    `json:"answer"`
			Correct     string    `json:"correct"`
			Outcome     string    `json:"outcome"`
			Reason      string    `json:"reason"`
			ElapsedMS   float64   `json:"elapsed_ms"`
			URL         string    `json:"url"`
		} `json:"items"`
	}
	if err := s.decode(answer, &page); err != nil {
		return err
	}
	if len(page.Items) == 0 {
		return s.print("no lost rounds\n")
	}
	t := s.table("CLOSED", "LEAGUE", "TOPIC", "QUESTION", "ANSWER", "RIGHT", "RESULT", "TOOK", "PAGE")
	for _, l := range page.Items {
		how := cmp.Or(l.Reason, l.Outcome)
		if how == "answered" {
			how = "wrong"
		}
		t.row(plain(ago(s.Now(), l.At)), plain(l.League), plain(l.Topic), plain(l.Description), plain(l.Answer), plain(l.Correct), plain(how), plain(took(l.ElapsedMS)), plain(l.URL))
	}
	return t.print()
}

func (c *agentLossesCmd) topics(s *session, answer json.RawMessage) error {
	var page struct {
		Items []struct {
			Topic    string  `json:"topic"`
			Answered int     `json:"answered"`
			Share    float64 `json:"share"`
			Low      float64 `json:"low"`
			High     float64 `json:"high"`
		} `json:"items"`
	}
	if err := s.decode(answer, &page); err != nil {
		return err
	}
	if len(page.Items) == 0 {
		return s.print("no judged answers\n")
	}
	t := s.table("TOPIC", "ANSWERS", "RIGHT", "95 % INTERVAL")
	for _, v := range page.Items {
		t.row(plain(cmp.Or(v.Topic, "–")), plain(strconv.Itoa(v.Answered)), plain(fmt.Sprintf("%.0f %%", 100*v.Share)), plain(fmt.Sprintf("%.0f–%.0f %%", 100*v.Low, 100*v.High)))
	}
	return t.print()
}

// deliveries reads a page of the log.
func (s *session) deliveries(answer json.RawMessage) ([]delivery, error) {
	var page struct {
		Items []delivery `json:"items"`
	}
	return page.Items, s.decode(answer, &page)
}

func (c *agentLogsCmd) table(p *Process) *table {
	return p.table("SENT", "LEAGUE", "ROUND", "RESULT", "STATUS", "TOOK", "MATCH", "REASON")
}

// add adds requests to a table.
func (c *agentLogsCmd) add(p *Process, t *table, items []delivery) {
	for _, d := range items {
		sent := absolute(d.SentAt)
		if c.Time == "relative" && !c.Follow {
			sent = ago(p.Now(), d.SentAt)
		}
		round := strconv.Itoa(d.Round)
		if d.Attempt > 1 {
			round += fmt.Sprintf(" (attempt %d)", d.Attempt)
		}
		status := "–"
		if d.Status > 0 {
			status = strconv.Itoa(d.Status)
		}
		t.row(plain(sent), plain(d.League), plain(round), result(d.Outcome), plain(status), plain(took(d.ElapsedMS)), plain(d.MatchID), plain(cmp.Or(d.Detail, d.Reason)))
	}
}

// follow prints new requests until the process is interrupted.
func (c *agentLogsCmd) follow(s *session, path string, q url.Values) error {
	t := c.table(s.Process)
	shown := map[string]bool{}
	q.Set("limit", "100") // none is missed when many come at once
	ticker := time.NewTicker(logPause)
	defer ticker.Stop()
	for first := true; ; first = false {
		answer, err := s.call(http.MethodGet, path+q.Encode(), nil)
		var items []delivery
		if err == nil {
			items, err = s.deliveries(answer)
		}
		switch {
		case s.Ctx.Err() != nil:
			return nil // a signal is how it ends
		case err != nil && (first || statusOf(err) != 0 && statusOf(err) < http.StatusInternalServerError):
			return err
		case err == nil:
			page := map[string]bool{}
			for _, d := range items {
				page[d.ID] = true
			}
			items = slices.DeleteFunc(items, func(d delivery) bool { return shown[d.ID] })
			if shown = page; first {
				items = items[:min(len(items), c.Limit)]
			}
			slices.Reverse(items)
			c.add(s.Process, t, items)
			if err := t.print(); err != nil {
				return err
			}
		}
		select {
		case <-ticker.C:
		case <-s.Ctx.Done():
			return nil
		}
	}
}

type agentRehearseCmd struct {
	oneAgent

	League string   `placeholder:"SLUG" help:"Its rules and time limit are used; left out: the first league of the agent."`
	Fault  []string `placeholder:"FAULT" sep:"," enum:"duplicate_delivery,expired_token,slow_network,trickle,huge_task,hostile_opponent" help:"Only this fault: ${enum}. Repeatable; left out: a round without a fault and one of each."`
	Rounds int      `placeholder:"N" help:"Number of rounds, 1 to 10."`
}

func (c *agentRehearseCmd) Run(p *Process, group *AgentCmd) error {
	s, found, err := group.ownAgent(p, c.Agent)
	if err != nil {
		return err
	}
	if c.League == "" {
		if len(found.Leagues) == 0 {
			return fmt.Errorf("%s has entered no league: name one with --league", found.Name)
		}
		c.League = found.Leagues[0]
	}
	body := map[string]any{"league": c.League}
	if len(c.Fault) > 0 {
		body["faults"] = c.Fault
	}
	if c.Rounds != 0 {
		body["rounds"] = c.Rounds
	}
	if !group.JSON {
		_, _ = fmt.Fprintf(p.Stderr, "rehearsing in %s; this takes up to a minute\n", plaintext.Terminal(c.League))
	}
	answer, err := s.call(http.MethodPost, agentPath(found.ID, "/rehearse"), body)
	if err != nil {
		return err
	}
	var report rehearsal
	if err := s.decode(answer, &report); err != nil {
		return err
	}
	if group.JSON {
		err = p.raw(answer)
	} else {
		err = report.print(p)
	}
	if err == nil && report.Failed > 0 {
		err = fmt.Errorf("%d of %d rounds failed", report.Failed, len(report.Rounds))
	}
	return err
}

// rehearsal is the report of a rehearsal.
type rehearsal struct {
	Passed int `json:"passed"`
	Failed int `json:"failed"`
	Tokens *struct {
		PerRound int64 `json:"per_round"`
		PerMatch int64 `json:"per_match"`
	} `json:"tokens"`
	Rounds []struct {
		Round       int     `json:"round"`
		Fault       string  `json:"fault"`
		Verdict     string  `json:"verdict"`
		Outcome     string  `json:"outcome"`
		Expected    string  `json:"expected"`
		Explanation string  `json:"explanation"`
		ElapsedMS   float64 `json:"elapsed_ms"`
	} `json:"rounds"`
}

// print writes a row for each round. Of a failed one it also shows what was
// expected.
func (r rehearsal) print(p *Process) error {
	t := p.table("ROUND", "FAULT", "RESULT", "TOOK", "WHAT HAPPENED")
	for _, round := range r.Rounds {
		verdict, elapsed := paint(Dim, "not played"), ""
		switch round.Verdict {
		case "passed":
			verdict = paint(Green, "passed")
		case "failed":
			verdict = paint(Red, "failed")
		}
		if round.Outcome != "" {
			elapsed = took(round.ElapsedMS)
		}
		t.row(plain(strconv.Itoa(round.Round)), plain(faultText(round.Fault)), verdict, plain(elapsed), plain(round.Explanation))
		if round.Verdict == "failed" {
			t.row(plain(""), plain(""), plain(""), plain(""), paint(Dim, "expected: "+round.Expected))
		}
	}
	if err := t.print(); err != nil {
		return err
	}
	if r.Tokens != nil {
		if err := p.print("up to %d tokens a round, about %d a match\n", r.Tokens.PerRound, r.Tokens.PerMatch); err != nil {
			return err
		}
	}
	return p.print("%d passed, %d failed\n", r.Passed, r.Failed)
}

// Watcher follows a match of an arena on standard output until it ends.
type Watcher func(arena, match string) error

type agentChallengeCmd struct {
	oneAgent

	Opponent string `arg:"" placeholder:"OPPONENT" help:"Name or id of the other agent."`
	League   string `placeholder:"SLUG" help:"League whose rules hold; left out: the first that both have entered."`
	Watch    bool   `short:"w" help:"Follow the match to its end."`
}

func (c *agentChallengeCmd) Run(p *Process, group *AgentCmd, watch Watcher) error {
	s, own, err := group.ownAgent(p, c.Agent)
	if err != nil {
		return err
	}
	opponent, err := s.find(c.Opponent)
	if err != nil {
		return err
	}
	if c.League == "" {
		i := slices.IndexFunc(own.Leagues, func(slug string) bool { return slices.Contains(opponent.Leagues, slug) })
		if i < 0 {
			return fmt.Errorf("%s and %s have entered no league together", own.Name, opponent.Name)
		}
		c.League = own.Leagues[i]
	}
	answer, err := s.call(http.MethodPost, "/v1/challenges", map[string]string{"agent_id": own.ID, "opponent_id": opponent.ID, "league": c.League})
	if err != nil {
		return err
	}
	var match struct {
		ID     string `json:"match_id"`
		Status string `json:"status"`
	}
	if err := s.decode(answer, &match); err != nil {
		return err
	}
	if group.JSON {
		if err := p.raw(answer); err != nil {
			return err
		}
	} else if err := c.print(s, own, opponent, match.ID, match.Status); err != nil {
		return err
	}
	if c.Watch {
		return watch(s.URL, match.ID)
	}
	return nil
}

// print writes the match and where to see it.
func (c *agentChallengeCmd) print(s *session, own, opponent agent, match, status string) error {
	t := s.table()
	t.row(plain("match"), paint(Bold, match))
	t.row(plain("status"), plain(status))
	t.row(plain("agents"), plain(own.Name+" and "+opponent.Name+" in "+c.League+", unrated"))
	t.row(plain("page"), plain(s.URL+"/m/"+url.PathEscape(match)))
	return t.print()
}
