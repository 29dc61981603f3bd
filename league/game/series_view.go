package game

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
)

// scores returns the points of the seats in the games that are over.
func (s progress) scores(n int) []arena.Points {
	scores := make([]arena.Points, n)
	for _, e := range s.Ended {
		for seat, points := range e.Points {
			scores[seat] += points
		}
	}
	return scores
}

// intro returns the first line of a task: which game it is, the score, and who plays.
func (s progress) intro(p Position, player int) string {
	n := len(p.Seats)
	scores := s.scores(n)
	scored := func(player int) string {
		return "score " + strconv.FormatFloat(float64(scores[s.seat(player, n)])/float64(arena.OnePoint), 'f', -1, 64)
	}
	var others []string
	for other := range n {
		if other != player {
			others = append(others, fmt.Sprintf("player %d is %q (%s)", other, p.Seats[s.seat(other, n)].Name, scored(other)))
		}
	}
	return fmt.Sprintf("Game %d of %d. You are player %d (%s); %s.", s.Game+1, p.Settings.Game.Games, player, scored(player), strings.Join(others, ", "))
}

// maxRemembered is the number of bytes of earlier moves in an observation.
const maxRemembered = 16 << 10

// forget drops the moves of the earliest games beyond maxRemembered.
func (s *progress) forget() {
	size := 0
	for i, e := range slices.Backward(s.Ended) {
		for _, m := range e.Moves {
			size += len(m.Move) + len(`{"player":0,"move":""},`)
		}
		if size > maxRemembered {
			s.Ended[i].Moves = nil
		}
	}
}

// seriesPlayer is a player in an observation.
type seriesPlayer struct {
	AgentID string       `json:"agent_id"`
	Name    string       `json:"name"`
	Points  arena.Points `json:"points"`
}

// seriesGame is an earlier game in an observation, by the numbers of its players.
type seriesGame struct {
	You    int            `json:"you"`
	Points []arena.Points `json:"points"`
	Moves  []rules.Move   `json:"moves"`
}

// observation returns the observation of a player with its place in the series, so
// that an agent without a memory knows its opponents and how they have played.
func (s progress) observation(p Position, a rules.ToAct) (json.RawMessage, error) {
	n := len(p.Seats)
	scores, mine := s.scores(n), s.seat(a.Player, n)
	series := struct {
		Game    int            `json:"game"`
		Games   int            `json:"games"`
		You     int            `json:"you"`
		Players []seriesPlayer `json:"players"`
		Earlier []seriesGame   `json:"earlier"`
	}{s.Game + 1, p.Settings.Game.Games, a.Player, make([]seriesPlayer, n), []seriesGame{}}
	for seat := range p.Seats {
		series.Players[s.player(seat, n)] = seriesPlayer{p.Seats[seat].AgentID, p.Seats[seat].Name, scores[seat]}
	}
	for game, e := range s.Ended {
		then := progress{Game: game}
		earlier := seriesGame{You: then.player(mine, n), Points: make([]arena.Points, n), Moves: append([]rules.Move{}, e.Moves...)}
		for seat, points := range e.Points {
			earlier.Points[then.player(seat, n)] = points
		}
		series.Earlier = append(series.Earlier, earlier)
	}
	return withMembers(a.Observation, map[string]any{"series": series})
}

// public returns the position of a game with its place in the series. points are
// the points by player of a game that is over.
func (s progress) public(p Position, at rules.Position, points []arena.Points) (json.RawMessage, error) {
	n := len(p.Seats)
	players := make([]string, n)
	for seat := range p.Seats {
		players[s.player(seat, n)] = p.Seats[seat].AgentID
	}
	series := map[string]any{"players": players, "game": s.Game + 1, "games": p.Settings.Game.Games}
	if points == nil {
		series["turn"] = s.Turn + 1
	} else {
		series["over"], series["points"] = true, points
	}
	return withMembers(at.Public, series)
}

// withMembers returns a JSON object with more members.
func withMembers(object json.RawMessage, more map[string]any) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, fmt.Errorf("decode what a game shows: %w", err)
	}
	for name, v := range more {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("encode what a game shows: %w", err)
		}
		members[name] = raw
	}
	raw, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("encode what a game shows: %w", err)
	}
	return raw, nil
}
