package cli

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

type agentBudgetCmd struct {
	oneAgent

	Matches *int     `placeholder:"N" help:"Matches a day, 0 to 10000; 0: no limit."`
	Tokens  *int64   `placeholder:"N" help:"Tokens a day; 0: no limit."`
	Hours   string   `placeholder:"FROM-TO" help:"Playing hours, e.g. 08:00-20:00; 22:00-06:00 ends on the next day."`
	Days    []string `placeholder:"DAY" sep:"," enum:"mon,tue,wed,thu,fri,sat,sun" help:"Days on which the hours begin: ${enum}. Left out: every day."`
	Zone    string   `placeholder:"ZONE" help:"Time zone of hours and days, e.g. Europe/Madrid."`
	None    bool     `help:"Remove all limits."`
}

// Help shows the command at work.
func (c *agentBudgetCmd) Help() string {
	return `Without flags, shows what the agent has used of its budget today, and a forecast.
Flags change the limits that they name and keep the others.

    arena agent budget ada --matches 20 --tokens 50000
    arena agent budget ada --hours 08:00-20:00 --days mon,tue,wed,thu,fri --zone Europe/Madrid
    arena agent budget ada --none`
}

// budget is what an agent may play.
type budget struct {
	Matches int          `json:"matches_per_day,omitempty"`
	Tokens  int64        `json:"tokens_per_day,omitempty"`
	Hours   *budgetHours `json:"hours,omitempty"`
}

type budgetHours struct {
	Zone string   `json:"zone,omitempty"`
	From string   `json:"from,omitempty"`
	To   string   `json:"to,omitempty"`
	Days []string `json:"days,omitempty"`
}

// budgetUse is what an agent has used of its budget today.
type budgetUse struct {
	Budget      budget `json:"budget"`
	Zone        string `json:"zone"`
	Matches     int    `json:"matches"`
	Open        int    `json:"open_matches"`
	Tokens      int64  `json:"tokens"`
	Reserved    int64  `json:"reserved_tokens"`
	MatchTokens int64  `json:"tokens_per_match"`
	Cooldown    *struct {
		Reason string    `json:"reason"`
		Until  time.Time `json:"until"`
	} `json:"cooldown"`
	Forecast struct {
		Matches int   `json:"matches"`
		Tokens  int64 `json:"tokens"`
	} `json:"forecast"`
}

func (c *agentBudgetCmd) Run(p *Process, group *AgentCmd) error {
	s, found, err := group.ownAgent(p, c.Agent)
	if err != nil {
		return err
	}
	path := agentPath(found.ID, "/budget")
	if c.changes() {
		var now budgetUse
		if err := s.get(path, &now); err != nil {
			return err
		}
		wanted, err := c.apply(now.Budget)
		if err != nil {
			return err
		}
		if _, err := s.call(http.MethodPatch, agentPath(found.ID, ""), map[string]any{"budget": wanted}); err != nil {
			return err
		}
	}
	answer, err := s.call(http.MethodGet, path, nil)
	if err != nil || group.JSON {
		return errors.Join(err, p.raw(answer))
	}
	var use budgetUse
	if err := s.decode(answer, &use); err != nil {
		return err
	}
	return use.print(p)
}

// changes reports whether the flags change the budget.
func (c *agentBudgetCmd) changes() bool {
	return c.None || c.Matches != nil || c.Tokens != nil || c.Hours != "" || len(c.Days) > 0 || c.Zone != ""
}

// apply returns a budget with the limits that the flags name; nil: none.
func (c *agentBudgetCmd) apply(to budget) (*budget, error) {
	if c.None {
		if c.Matches != nil || c.Tokens != nil || c.Hours != "" || len(c.Days) > 0 || c.Zone != "" {
			return nil, errors.New("--none and other limits can't be used together")
		}
		return nil, nil //nolint:nilnil // null removes the budget
	}
	if c.Matches != nil {
		to.Matches = *c.Matches
	}
	if c.Tokens != nil {
		to.Tokens = *c.Tokens
	}
	if c.Hours == "" && len(c.Days) == 0 && c.Zone == "" {
		return &to, nil
	}
	if to.Hours == nil {
		to.Hours = &budgetHours{}
	}
	if c.Hours != "" {
		from, until, ok := strings.Cut(c.Hours, "-")
		if !ok {
			return nil, fmt.Errorf("--hours must be like 08:00-20:00, not %q", c.Hours)
		}
		to.Hours.From, to.Hours.To = from, until
	}
	if len(c.Days) > 0 {
		to.Hours.Days = c.Days
	}
	if c.Zone != "" {
		to.Hours.Zone = c.Zone
	}
	return &to, nil
}

// print writes the use of today and the forecast.
func (u budgetUse) print(p *Process) error {
	matches, tokens := fmt.Sprint(u.Matches), fmt.Sprint(u.Tokens)
	if u.Budget.Matches > 0 {
		matches += fmt.Sprintf(" of %d", u.Budget.Matches)
	}
	if u.Budget.Tokens > 0 {
		tokens += fmt.Sprintf(" of %d", u.Budget.Tokens)
	}
	if u.Open > 0 {
		matches += fmt.Sprintf(", %d of them not over", u.Open)
		tokens += fmt.Sprintf(", and %d reserved for matches that are not over", u.Reserved)
	}
	t := p.table()
	t.row(paint(Dim, "matches today"), plain(matches))
	t.row(paint(Dim, "tokens today"), plain(tokens))
	if h := u.Budget.Hours; h != nil {
		days := "every day"
		if len(h.Days) > 0 {
			days = strings.Join(h.Days, ", ")
		}
		t.row(paint(Dim, "hours"), plain(fmt.Sprintf("%s-%s %s, %s", h.From, h.To, h.Zone, days)))
	}
	if u.MatchTokens > 0 {
		t.row(paint(Dim, "a match"), plain(fmt.Sprintf("%d tokens, estimated", u.MatchTokens)))
	}
	t.row(paint(Dim, "30 days"), plain(fmt.Sprintf("%d matches, %d tokens, if they are like the last 7 days", u.Forecast.Matches, u.Forecast.Tokens)))
	if c := u.Cooldown; c != nil {
		text := map[string]string{
			"matches": "the matches of the day are used", "tokens": "another match could exceed the tokens of the day", "hours": "outside its hours",
		}[c.Reason]
		if c.Until.IsZero() {
			text = "one match could exceed the tokens of a day; change the budget, or rehearse for a closer estimate"
		} else {
			text += ", until " + absolute(c.Until)
		}
		t.row(paint(Dim, "no matches"), paint(Yellow, text))
	}
	return t.print()
}
