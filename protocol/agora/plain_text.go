package agora

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
)

// named returns the league that a text names by slug or title.
func named(leagues []league, said []string) (league, bool) {
	text := " " + strings.Join(said, " ") + " "
	for _, l := range leagues {
		for _, name := range []string{l.League, strings.Join(tokens(l.Title), " ")} {
			if name != "" && strings.Contains(text, " "+name+" ") {
				return l, true
			}
		}
	}
	return league{}, false
}

// plainText answers a plain-text request in its language. The conversation
// keeps the league that was named last.
func (s *Server) plainText(ctx context.Context, c *call, text string) (string, error) {
	said := tokens(text)
	leagues, err := s.leagues(ctx, c)
	if err != nil {
		return "", plainTextError(err)
	}
	meant, book := understand(s.books, said)
	about, ok := named(leagues, said)
	if ok {
		if meant == intentHelp {
			meant, book = s.asked(c, book)
		}
		err = s.updateState(ctx, c, func(m *conversationState) { m.League, m.Asked, m.Language = about.League, "", "" })
	} else {
		about, ok = s.recall(c, leagues)
	}
	if err != nil {
		return "", err
	}
	v := replies{Server: s, phraseBook: book, leagues: leagues}
	answer := ""
	switch meant {
	case intentAbout:
		answer = v.say("about", "leagues", v.list())
	case intentRegister:
		answer = v.howToRegister()
	case intentMine:
		answer, err = v.saidRating(ctx, c, said, about)
	case intentLeader, intentStandings:
		if !ok {
			return v.whichLeague(), s.updateState(ctx, c, func(m *conversationState) { m.Asked, m.Language = meant, book.Language })
		}
		answer, err = v.saidTable(ctx, c, about, meant == intentLeader)
	case intentNext:
		answer, err = v.saidNext(ctx, c, about.League)
	case intentMatches:
		answer, err = v.saidMatches(ctx, c, about.League)
	case intentRules:
		answer = v.say("rules") + "\n" + v.saidLeagues(about)
	case intentLeagues:
		answer = v.saidLeagues(about)
	case intentHelp:
		answer = s.help(leagues)
	}
	return answer, plainTextError(err)
}

// Ask answers a plain-text request of a client at an address, outside a
// conversation.
// Errors are *arena.Error or the arena's own.
func (s *Server) Ask(ctx context.Context, address, text string) (string, error) {
	answer, err := s.plainText(ctx, &call{address: address}, text)
	return answer, outward(err)
}

// Look answers a question in the form of one of the documents standings, matches
// and rules, for a client at an address. It returns the same errors as Ask.
func (s *Server) Look(ctx context.Context, address, document string, body []byte) (any, error) {
	for _, doc := range []struct {
		name   string
		answer func(context.Context, *call, []byte) (any, error)
	}{{"standings", s.standings}, {"matches", s.matches}, {"rules", s.rules}} {
		if doc.name == document {
			found, err := doc.answer(ctx, &call{address: address}, body)
			return found, outward(err)
		}
	}
	return nil, arena.Errorf(arena.CodeNotFound, "there is no document %q", document)
}

// outward makes a refusal in the form of two-party Agora one of the domain.
func outward(err error) error {
	if f, ok := errors.AsType[fault](err); ok {
		return arena.Errorf(arena.CodeMalformed, "%s", string(f))
	}
	if r, ok := errors.AsType[refusal](err); ok {
		if r.status == http.StatusTooManyRequests {
			return arena.Errorf(arena.CodeRateLimited, "%s", r.text)
		}
		return arena.Errorf(arena.CodeMalformed, "%s", r.text)
	}
	return err
}

// asked returns the intent of an earlier question of the conversation that lacked
// the league, and the book of its language.
func (s *Server) asked(c *call, book *phraseBook) (intent, *phraseBook) {
	if c.conversation == nil {
		return intentHelp, book
	}
	m := readState(*c.conversation)
	for _, b := range s.books {
		if b.Language == m.Language {
			book = b
		}
	}
	return m.Asked, book
}

// help returns the help in all languages.
func (s *Server) help(leagues []league) string {
	var texts []string
	for _, b := range s.books {
		v := replies{Server: s, phraseBook: b, leagues: leagues}
		texts = append(texts, v.say("help", "leagues", v.list(), "url", s.o.PublicURL+Root+"/wellknown"))
	}
	return strings.Join(texts, "\n\n")
}

// plainTextError converts a fault, which belongs to a document, to a failure of
// Agora.
func plainTextError(err error) error {
	if f, ok := err.(fault); ok { //nolint:errorlint // faultOf returns it unwrapped
		return failure(string(f))
	}
	return err
}

// recall returns the league of the conversation, or the only one there is.
func (s *Server) recall(c *call, leagues []league) (league, bool) {
	if c.conversation != nil {
		last := readState(*c.conversation).League
		for _, l := range leagues {
			if l.League == last {
				return l, true
			}
		}
	}
	if len(leagues) == 1 {
		return leagues[0], true
	}
	return league{}, false
}

// replies writes plain-text replies in one language.
type replies struct {
	*Server
	*phraseBook

	leagues []league
}

func (v replies) slugs() string {
	names := make([]string, len(v.leagues))
	for i, l := range v.leagues {
		names[i] = l.League
	}
	return strings.Join(names, ", ")
}

// list is a sentence with the names of all leagues.
func (v replies) list() string {
	if len(v.leagues) == 0 {
		return v.say("no_leagues")
	}
	return v.say("leagues", "leagues", v.slugs())
}

func (v replies) whichLeague() string {
	if len(v.leagues) == 0 {
		return v.say("no_leagues")
	}
	return v.say("which_league", "leagues", v.slugs())
}

func (v replies) howToRegister() string {
	return v.say("register", "registration", v.docs.registration.Name, "registration_hash", v.docs.registration.Hash(),
		"agent", v.docs.agent.Name, "agent_hash", v.docs.agent.Hash(), "leagues", v.list())
}

// mark is a rating, with "?" while it is provisional.
func (l standing) mark() string {
	if l.Provisional {
		return l.Rating.String() + "?"
	}
	return l.Rating.String()
}

// saidTable returns the top of a league, with a sentence about the first if that was
// asked for.
func (v replies) saidTable(ctx context.Context, c *call, l league, leader bool) (string, error) {
	t, err := v.table(ctx, c, l.League, 10)
	switch {
	case err != nil:
		return "", err
	case t.Frozen:
		return v.say("hidden", "title", l.Title), nil
	case len(t.Standings) == 0:
		return v.say("empty", "title", l.Title), nil
	}
	var lines []string
	if first := t.Standings[0]; leader {
		lines = append(lines, v.say("leader", "name", first.Name, "title", l.Title, "rating", first.mark()))
	}
	lines = append(lines, v.say("standings", "title", l.Title))
	for i, line := range t.Standings {
		lines = append(lines, v.say("standing", "n", strconv.Itoa(i+1), "name", line.Name, "rating", line.mark(), "matches", strconv.Itoa(line.RatedMatches)))
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// maxTables is how many tables are searched for an agent's ratings.
const maxTables = 20

// saidRating returns the ratings of the agent whose secret base is used, or of one
// that the text names, in a league or in all.
func (v replies) saidRating(ctx context.Context, c *call, said []string, about league) (string, error) {
	leagues := v.leagues
	if about.League != "" {
		leagues = []league{about}
	}
	text := " " + strings.Join(said, " ") + " "
	var lines []string
	for _, l := range leagues[:min(len(leagues), maxTables)] {
		t, err := v.tableOf(ctx, l.League, maxStandings)
		if err != nil {
			return "", err
		}
		for _, line := range t.Standings {
			name := strings.Join(tokens(line.Name), " ")
			if line.AgentID != c.agentID && (c.agentID != "" || name == "" || !strings.Contains(text, " "+name+" ")) {
				continue
			}
			rank := v.say("unranked")
			if line.Rank > 0 {
				rank = v.say("rank", "n", strconv.Itoa(line.Rank))
			}
			lines = append(lines, v.say("rating", "name", line.Name, "title", l.Title, "rating", line.mark(), "matches", strconv.Itoa(line.RatedMatches), "rank", rank))
		}
	}
	switch {
	case len(lines) > 0:
		return strings.Join(lines[:min(len(lines), maxTables)], "\n"), nil
	case c.agentID != "":
		return v.say("unrated"), nil
	}
	return v.say("whose"), nil
}

// maxStandings is how many lines of a table are searched.
const maxStandings = 10_000

// saidNext returns the match that starts next, of the agent whose secret base is
// used, in a league or in all.
func (v replies) saidNext(ctx context.Context, c *call, slug string) (string, error) {
	if err := v.count(ctx, c); err != nil {
		return "", err
	}
	found, _, err := v.o.Visible.Matches(ctx, arena.MatchFilter{
		League: slug, AgentID: c.agentID, Statuses: []arena.MatchStatus{arena.MatchScheduled, arena.MatchReady},
	}, arena.Page{Limit: 100})
	if err != nil {
		return "", faultOf(err)
	}
	if len(found) == 0 {
		return v.say("no_next"), nil
	}
	first := found[0]
	for _, m := range found[1:] {
		if m.StartsAt.Before(first.StartsAt) {
			first = m
		}
	}
	return v.say("next", "league", first.League, "time", first.StartsAt.UTC().Format("2006-01-02 15:04"), "seats", v.sides(first)), nil
}

func (v replies) sides(m visibility.Match) string {
	names := make([]string, len(m.Seats))
	for i, s := range m.Seats {
		names[i] = s.Name
	}
	return strings.Join(names, v.say("against"))
}

func (v replies) saidMatches(ctx context.Context, c *call, slug string) (string, error) {
	list, err := v.matchList(ctx, c, slug, "", 10)
	if err != nil {
		return "", err
	}
	if len(list.Matches) == 0 {
		return v.say("no_matches"), nil
	}
	lines := []string{v.say("matches")}
	for _, m := range list.Matches {
		seats := make([]string, len(m.Seats))
		for i, seat := range m.Seats {
			seats[i] = seat.Name + " (" + seat.Points.String() + ")"
		}
		lines = append(lines, v.say("match", "id", m.MatchID, "league", m.League, "status", v.name(m.Status), "round", strconv.Itoa(m.Round),
			"seats", strings.Join(seats, v.say("against"))))
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// saidLeagues lists the league that was named, or all.
func (v replies) saidLeagues(about league) string {
	leagues := v.leagues
	if about.League != "" {
		leagues = []league{about}
	}
	if len(leagues) == 0 {
		return v.say("no_leagues")
	}
	var b strings.Builder
	for _, l := range leagues {
		rounds := v.say("open_end")
		if l.Rounds != nil {
			rounds = v.say("rounds", "n", strconv.Itoa(*l.Rounds))
		}
		b.WriteString(v.say("league", "title", l.Title, "league", l.League, "status", v.name(l.Status), "format", v.name(l.Format), "rounds", rounds,
			"seconds", strconv.FormatFloat(l.TimeLimitSeconds, 'g', -1, 64), "judge", l.Judge))
		for _, rule := range l.Rules {
			b.WriteString(" " + rule + ".")
		}
		b.WriteString("\n")
	}
	return b.String()
}
