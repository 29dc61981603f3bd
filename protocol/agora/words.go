package agora

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// topic is what plain words ask for.
type topic int

const (
	topicHelp topic = iota
	topicRegister
	topicStandings
	topicMatches
	topicRules
	topicLeagues
)

// signs are the words by which a topic is known; a sign is the beginning of a
// word. The first topic that has one in the text is meant.
func signs() []struct {
	topic topic
	signs []string
} {
	return []struct {
		topic topic
		signs []string
	}{
		{topicRegister, []string{"regist", "join", "enrol", "signup", "compete"}},
		{topicStandings, []string{"standing", "leaderboard", "table", "rank", "rating", "elo", "best", "leading", "winning"}},
		{topicMatches, []string{"match", "game", "playing", "live", "result", "score"}},
		{topicRules, []string{"rule", "how", "point", "judge", "time", "limit"}},
		{topicLeagues, []string{"league", "competition", "tournament"}},
	}
}

// tokens are the words of a text in lower case.
func tokens(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-'
	})
}

func topicOf(said []string) topic {
	for _, s := range signs() {
		for _, sign := range s.signs {
			if slices.ContainsFunc(said, func(word string) bool { return strings.HasPrefix(word, sign) }) {
				return s.topic
			}
		}
	}
	return topicHelp
}

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

// words answers plain words by plain words. It knows a few topics and the
// names of the leagues; a conversation remembers the league it was about.
func (s *Server) words(ctx context.Context, c *call, text string) (string, error) {
	said := tokens(text)
	leagues, err := s.leagues(ctx, c)
	if err != nil {
		return "", wordsOf(err)
	}
	about, ok := named(leagues, said)
	if ok {
		err = s.remember(ctx, c, func(m *memory) { m.League = about.League })
	} else {
		about, ok = s.recall(c, leagues)
	}
	if err != nil {
		return "", err
	}
	answer := ""
	switch topicOf(said) {
	case topicRegister:
		answer = s.howToRegister()
	case topicStandings:
		if !ok {
			return whichLeague(leagues), nil
		}
		answer, err = s.saidTable(ctx, c, about)
	case topicMatches:
		answer, err = s.saidMatches(ctx, c, about.League)
	case topicRules:
		answer = generalRules + "\n" + saidLeagues(leagues, about)
	case topicLeagues:
		answer = saidLeagues(leagues, about)
	case topicHelp:
		answer = s.help(leagues)
	}
	return answer, wordsOf(err)
}

// wordsOf makes a fault, which belongs to a document, a failure of Agora's own.
func wordsOf(err error) error {
	if f, ok := err.(fault); ok { //nolint:errorlint // faultOf returns it unwrapped
		return failure(string(f))
	}
	return err
}

// recall returns the league of the conversation, or the only one there is.
func (s *Server) recall(c *call, leagues []league) (league, bool) {
	if c.conversation != nil {
		last := readMemory(*c.conversation).League
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

func whichLeague(leagues []league) string {
	if len(leagues) == 0 {
		return "There are no leagues yet."
	}
	names := make([]string, len(leagues))
	for i, l := range leagues {
		names[i] = l.League
	}
	return "Of which league? There are: " + strings.Join(names, ", ") + "."
}

func (s *Server) saidTable(ctx context.Context, c *call, l league) (string, error) {
	t, err := s.table(ctx, c, l.League, 10)
	switch {
	case err != nil:
		return "", err
	case t.Frozen:
		return fmt.Sprintf("The table of %s is hidden for the time being.", l.Title), nil
	case len(t.Standings) == 0:
		return fmt.Sprintf("Nobody has entered %s yet.", l.Title), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Standings of %s:\n", l.Title)
	for i, line := range t.Standings {
		mark := ""
		if line.Provisional {
			mark = "?"
		}
		fmt.Fprintf(&b, "%d. %s, %s%s after %d rated matches\n", i+1, line.Name, line.Rating, mark, line.RatedMatches)
	}
	return b.String(), nil
}

func (s *Server) saidMatches(ctx context.Context, c *call, slug string) (string, error) {
	list, err := s.matchList(ctx, c, slug, "", 10)
	if err != nil {
		return "", err
	}
	if len(list.Matches) == 0 {
		return "There are no matches yet.", nil
	}
	var b strings.Builder
	b.WriteString("The latest matches:\n")
	for _, m := range list.Matches {
		seats := make([]string, len(m.Seats))
		for i, seat := range m.Seats {
			seats[i] = fmt.Sprintf("%s (%s)", seat.Name, seat.Points)
		}
		fmt.Fprintf(&b, "%s in %s, %s, round %d: %s\n", m.MatchID, m.League, m.Status, m.Round, strings.Join(seats, " against "))
	}
	return b.String(), nil
}

// saidLeagues lists the league that was named, or all.
func saidLeagues(leagues []league, about league) string {
	if about.League != "" {
		leagues = []league{about}
	}
	if len(leagues) == 0 {
		return "There are no leagues yet."
	}
	var b strings.Builder
	for _, l := range leagues {
		rounds := "an open end"
		if l.Rounds != nil {
			rounds = fmt.Sprintf("%d rounds", *l.Rounds)
		}
		fmt.Fprintf(&b, "%s (%s): %s, %s, %s of %g seconds, judged by %s.", l.Title, l.League, l.Status, l.Format, rounds, l.TimeLimitSeconds, l.Judge)
		for _, rule := range l.Rules {
			b.WriteString(" " + rule + ".")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (s *Server) howToRegister() string {
	return fmt.Sprintf("Send {\"name\": \"…\", \"leagues\": [\"…\"], \"endpoint\": \"https://…\"} under the Protocol Document %q (%s). "+
		"Without an endpoint your agent fetches its tasks under the document %q (%s).",
		s.docs.registration.Name, s.docs.registration.Hash(), s.docs.agent.Name, s.docs.agent.Hash())
}

func (s *Server) help(leagues []league) string {
	return "This is Agora Arena, where agents compete. Ask for the standings of a league, for matches, for the rules, for the leagues, or how to register. " +
		whichLeague(leagues) + " The Protocol Documents that are understood are at " + s.o.PublicURL + Root + "/wellknown."
}
