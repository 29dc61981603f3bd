package api

import (
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/strictjson"
)

// gameBody is the game of a league: one object with the settings of the arena and
// the options of the game side by side.
type gameBody struct{ arena.GameSpec }

// The settings of the arena in a game; its other members are options.
const (
	gameName      = "name"
	gameVersion   = "version"
	gameSHA256    = "sha256"
	gamesPerMatch = "games_per_match"
	gameDuplicate = "duplicate"
	gameTimeBank  = "time_bank_seconds"
	gameShowLegal = "show_legal_moves"
	gameHidden    = "hidden"
)

// UnmarshalJSON reads a game.
func (g *gameBody) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if err := strictjson.Unmarshal(data, &members); err != nil {
		return err
	}
	bank, show := 0.0, true
	var ignored any
	known := map[string]any{
		gameName: &g.Name, gameSHA256: &g.SHA256, gamesPerMatch: &g.Games, gameDuplicate: &g.Duplicate, gameTimeBank: &bank, gameShowLegal: &show,
		gameVersion: &ignored, gameHidden: &ignored, // of a league that was read
	}
	options := map[string]int{}
	for name, value := range members {
		into, isKnown := known[name]
		if !isKnown {
			into = new(int)
		}
		if err := strictjson.Unmarshal(value, into); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if option, ok := into.(*int); ok && !isKnown {
			options[name] = *option
		}
	}
	if len(options) > 0 {
		g.Options = options
	}
	g.TimeBank, g.HideLegal = limitOf(bank), !show
	return nil
}

// MarshalJSON writes a game with its options.
func (g gameBody) MarshalJSON() ([]byte, error) {
	members := map[string]any{
		gameName: g.Name, gamesPerMatch: g.Games, gameDuplicate: g.Duplicate, gameTimeBank: g.TimeBank.Seconds(), gameShowLegal: !g.HideLegal,
	}
	for name, n := range g.Options {
		members[name] = n
	}
	for name, v := range map[string]string{gameVersion: g.Version, gameSHA256: g.SHA256} {
		if v != "" {
			members[name] = v
		}
	}
	if g.Hidden {
		members[gameHidden] = true
	}
	return json.Marshal(members)
}

// Schema is an object with any options.
func (gameBody) Schema(huma.Registry) *huma.Schema {
	least, games, seconds := 0.0, 20.0, 3600.0
	return &huma.Schema{
		Type: huma.TypeObject, Required: []string{gameName},
		Description: "A turn-based game instead of tasks and a judge (GET /v1/games lists them). All other fields are options of the game.",
		Properties: map[string]*huma.Schema{
			gameName:      {Type: huma.TypeString, Examples: []any{"connect_four"}},
			gameVersion:   {Type: huma.TypeString, ReadOnly: true, Description: "Of the rules, in a match."},
			gameSHA256:    {Type: huma.TypeString, Description: "Of the script of an uploaded game. Left out: the newest."},
			gamesPerMatch: {Type: huma.TypeInteger, Minimum: &least, Maximum: &games, Description: "The seats change places after each game. 2 when left out."},
			gameDuplicate: {Type: huma.TypeBoolean, Description: "Each deal is played once from each place. Only games that deal and hide nothing from a player."},
			gameTimeBank:  {Type: huma.TypeNumber, Minimum: &least, Maximum: &seconds, Description: "Of each seat and match, spent after the time limit of a move."},
			gameShowLegal: {Type: huma.TypeBoolean, Description: "Agents receive the list of legal moves. true when left out."},
			gameHidden:    {Type: huma.TypeBoolean, ReadOnly: true, Description: "The players know different things."},
		},
		AdditionalProperties: &huma.Schema{
			Type: huma.TypeInteger, Description: "An option of the game. 1 is yes and 0 no where it is a question.",
		},
	}
}

func (g *gameBody) spec() *arena.GameSpec {
	if g == nil {
		return nil
	}
	return &g.GameSpec
}

func viewGame(g *arena.GameSpec) *gameBody {
	if g == nil {
		return nil
	}
	return &gameBody{*g}
}

// gameScoreView is the result of games.
type gameScoreView struct {
	Games  int          `json:"games"`
	Wins   int          `json:"wins" doc:"Games with more points than everyone else."`
	Draws  int          `json:"draws" doc:"Games in which it shared the most points."`
	Losses int          `json:"losses"`
	Points arena.Points `json:"points"`
}

// gameTallyView is how the games of an agent ended (docs/rules/games.md).
type gameTallyView struct {
	All          gameScoreView `json:"all"`
	PlayedOut    gameScoreView `json:"played_out" doc:"Of games that ended by their rules, with moves of their agents alone."`
	DefaultMoves int           `json:"default_moves" doc:"Games that ended by their rules, with default moves of any agent."`
	ForfeitsWon  int           `json:"forfeits_won" doc:"Games that ended because others gave no legal move."`
	ForfeitsLost int           `json:"forfeits_lost" doc:"Games that ended because it gave none."`
	Illegal      int           `json:"illegal_moves" doc:"Games that it forfeited by an illegal move, or in which one was replaced first. Each game has one cause."`
	Timeouts     int           `json:"timeouts" doc:"The same by a timeout."`
	NoShows      int           `json:"no_shows" doc:"The same by 503, or without a connection."`
	Faults       int           `json:"faults" doc:"The same by any other cause: an error, an invalid reply, too many tokens."`
}

func viewTally(t arena.GameTally) *gameTallyView {
	return &gameTallyView{
		All: gameScoreView(t.All), PlayedOut: gameScoreView(t.PlayedOut), DefaultMoves: t.DefaultMoves, ForfeitsWon: t.ForfeitsWon,
		ForfeitsLost: t.ForfeitsLost, Illegal: t.Illegal, Timeouts: t.Timeouts, NoShows: t.NoShows, Faults: t.Faults,
	}
}

// agentGamesView is how the games of an agent in a league ended.
type agentGamesView struct {
	League string        `json:"league"`
	Games  gameTallyView `json:"games"`
}

// viewAgentGames returns the games of an agent by league.
func viewAgentGames(records []arena.GameRecord) []agentGamesView {
	byLeague := map[string][]arena.GameRecord{}
	for _, r := range records {
		byLeague[r.League] = append(byLeague[r.League], r)
	}
	views := []agentGamesView{}
	for _, slug := range sortedKeys(byLeague) {
		for _, tally := range arena.TallyGames(byLeague[slug]) { // of one agent
			views = append(views, agentGamesView{slug, *viewTally(tally)})
		}
	}
	return views
}

// firstMoversView compares the seats that had the first move of a game with the
// others.
type firstMoversView struct {
	All       *firstMoverView `json:"all"`
	PlayedOut *firstMoverView `json:"played_out,omitempty" doc:"In games that were played out; absent: in none."`
}

type firstMoverView struct {
	First  gameSharesView `json:"first" doc:"Seats that had the first move."`
	Others gameSharesView `json:"others" doc:"All other seats of these games."`
}

type gameSharesView struct {
	Games int       `json:"games" doc:"Counted once for each seat."`
	Won   shareView `json:"won"`
	Drawn shareView `json:"drawn"`
	Lost  shareView `json:"lost"`
}

type shareView struct {
	Share float64 `json:"share" minimum:"0" maximum:"1"`
	Low   float64 `json:"low" doc:"Of the 95 % interval of Wilson."`
	High  float64 `json:"high"`
}

// viewFirstMovers returns nil if one seat had the first move in no game.
func viewFirstMovers(records []arena.GameRecord) *firstMoversView {
	v := &firstMoversView{viewFirstMover(arena.FirstMoverOf(records, false)), viewFirstMover(arena.FirstMoverOf(records, true))}
	if v.All == nil {
		return nil
	}
	return v
}

func viewFirstMover(m *arena.FirstMover) *firstMoverView {
	if m == nil {
		return nil
	}
	return &firstMoverView{viewShares(m.First), viewShares(m.Others)}
}

func viewShares(s arena.GameShares) gameSharesView {
	return gameSharesView{Games: s.Games, Won: shareView(s.Won), Drawn: shareView(s.Drawn), Lost: shareView(s.Lost)}
}
