package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/visibility"
)

// matchView is the Match object of the contract.
type matchView struct {
	MatchID          string              `json:"match_id"`
	League           string              `json:"league"`
	Status           arena.MatchStatus   `json:"status" enum:"scheduled,ready,running,finished,void,cancelled"`
	Rated            bool                `json:"rated"`
	Format           arena.Format        `json:"format"`
	Visibility       arena.Visibility    `json:"visibility" doc:"Visibility while it runs: every event as it happens, sealed until the round closes, or everything with a delay in seconds."`
	Judge            string              `json:"judge" doc:"The kind of judge; empty in games."`
	Game             *gameBody           `json:"game,omitempty" doc:"The game that it plays; absent: it asks questions."`
	TimeLimitSeconds float64             `json:"time_limit_seconds" doc:"Of the newest round; of the first one before it begins."`
	Round            int                 `json:"round" doc:"The last one opened; 0 before the first."`
	TotalRounds      *int                `json:"total_rounds" doc:"null: open end"`
	Seats            []seatView          `json:"seats"`
	CreatedAt        jsonTime            `json:"created_at"`
	StartsAt         jsonTime            `json:"starts_at"`
	StartedAt        *jsonTime           `json:"started_at" nullable:"true" doc:"null: not yet."`
	FinishedAt       *jsonTime           `json:"finished_at" nullable:"true" doc:"null: not yet."`
	UnratedReason    arena.UnratedReason `json:"unrated_reason,omitempty" enum:"same_owner,shared_endpoint,shared_key,shared_domain,shared_network,pair_limit,challenge,request" doc:"Why a match of a rated league is not rated."`
	VoidReason       string              `json:"void_reason,omitempty" doc:"Why it is void or canceled, in English."`
	VoidCode         arena.VoidCode      `json:"void_code,omitempty" enum:"too_few_agents,no_show,agents_unreachable,interrupted,game_failed,task_source_failed,request_failed,arena_failed,season_finished,voided_by_admin,voided_by_organizer,voided_by_moderator,cancelled_by_admin,cancelled_by_organizer,cancelled_by_moderator,operator" doc:"The kind of void_reason. operator: the person who ended the match wrote the reason."`
	Seq              int64               `json:"seq" doc:"Of the last event in its log: the since of a stream that continues from here."`
	Viewers          int                 `json:"viewers"`
	CurrentRound     *currentRoundView   `json:"current_round,omitempty" doc:"The last round opened; in lists, only of running matches."`
	OpenVote         *matchVoteView      `json:"open_vote,omitempty" doc:"The vote of spectators that is open now."`
}

// MatchView is exported only because Huma skips unexported embedded structs.
type MatchView = matchView

// snapshotView is one match as it stands. Its members stand at the top, as in
// lists, and once more under match, for those who read the snapshot as
// {match, seats, points, round, seq}.
type snapshotView struct {
	MatchView
	Match  matchView               `json:"match"`
	Points map[string]arena.Points `json:"points" doc:"By agent id."`
}

type seatView struct {
	AgentID      string          `json:"agent_id"`
	Name         string          `json:"name"`
	OwnerID      string          `json:"owner_id"`
	OwnerGroup   string          `json:"owner_group,omitempty" doc:"Seats with the same group are not rated against each other; absent: the owner_id."`
	Version      string          `json:"version,omitempty"`
	BuiltIn      bool            `json:"built_in,omitempty" doc:"The agent comes with the program."`
	State        arena.SeatState `json:"state" enum:"active,out,left"`
	OutRound     int             `json:"out_round,omitempty" doc:"The round in which it was eliminated or left."`
	Points       arena.Points    `json:"points"`
	LostRounds   int             `json:"lost_rounds,omitempty" doc:"Rounds lost by a timeout; fewer break a tie on points."`
	Outcome      arena.Outcome   `json:"outcome,omitempty" enum:"answered,timeout,rate_limited,error,unavailable,invalid,void" doc:"Of its last round."`
	Place        int             `json:"place,omitempty" minimum:"1" doc:"1 is best; absent until the match is over."`
	RatingBefore *arena.MilliElo `json:"rating_before,omitempty" doc:"Present when the match moved its rating."`
	RatingDelta  *arena.MilliElo `json:"rating_delta,omitempty"`
}

type matchVoteView struct {
	Round int      `json:"round"`
	Until jsonTime `json:"until" doc:"When the vote ends."`
}

type currentRoundView struct {
	Round       int            `json:"round"`
	Task        arena.TaskBody `json:"task"`
	StartedAt   jsonTime       `json:"started_at"`
	Deadline    jsonTime       `json:"deadline"`
	Closed      bool           `json:"closed"`
	Interrupted bool           `json:"interrupted,omitempty" doc:"The round resumes after a take-over."`
	arena.GameState
}

// promptView is what one seat of a game was asked.
type promptView struct {
	AgentID     string   `json:"agent_id"`
	Description string   `json:"description"`
	Options     []string `json:"options,omitempty"`
	Observation any      `json:"observation,omitempty" doc:"The position as programs read it."`
}

// roundView is a closed round. Nothing of an open one is ever in it, so a
// sealed round stays sealed (docs/rules.md, section 5).
type roundView struct {
	Round       int                `json:"round"`
	Task        arena.TaskBody     `json:"task"`
	StartedAt   jsonTime           `json:"started_at"`
	ClosedAt    jsonTime           `json:"closed_at"`
	Interrupted bool               `json:"interrupted,omitempty"`
	Correct     string             `json:"correct,omitempty"`
	Seats       []arena.ClosedSeat `json:"seats" doc:"In the order of the match's seats."`
	arena.GameState
	Moves   []arena.PlayedMove `json:"moves,omitempty" doc:"The moves of a round of a game."`
	Prompts []promptView       `json:"prompts,omitempty" doc:"The tasks of the agents of a game, once the match has finished."`
}

// matchViews makes matchViews of matches, as spectators may see them.
type matchViews struct {
	visible Visible
	viewers func(matchID string) int
}

// one returns the view of a match.
func (mv *matchViews) one(m visibility.Match) matchView {
	v := matchView{
		MatchID: m.ID, League: m.League, Status: m.Status, Rated: m.Settings.Rated,
		Format: m.Settings.Format, Visibility: m.Settings.Visibility, Judge: m.Settings.Judge.Kind, Game: viewGame(m.Settings.Game),
		TimeLimitSeconds: m.Settings.TimeLimitIn(m.Round).Seconds(),
		Round:            m.Round, TotalRounds: roundsOrOpen(m.Settings.Rounds), Seats: make([]seatView, len(m.Seats)),
		CreatedAt: jsonTime(m.CreatedAt), StartsAt: jsonTime(m.StartsAt),
		StartedAt: optionalTime(m.StartedAt), FinishedAt: optionalTime(m.FinishedAt),
		VoidReason: m.VoidReason.String(), VoidCode: m.VoidReason.Code, UnratedReason: m.UnratedReason, Seq: m.Seq,
	}
	if m.Status == arena.MatchRunning {
		v.Viewers = mv.viewers(m.ID)
	}
	if until := m.VoteUntil(); !until.IsZero() {
		v.OpenVote = &matchVoteView{Round: m.Round, Until: jsonTime(until)}
	}
	for i, s := range m.Seats {
		v.Seats[i] = seatView{
			AgentID: s.AgentID, Name: s.Name, OwnerID: s.OwnerID, OwnerGroup: s.OwnerGroup, Version: s.Version, BuiltIn: s.Protocol == arena.ProtocolBuiltIn, State: s.State, OutRound: s.OutRound,
			Points: s.Points, LostRounds: s.LostRounds, Outcome: s.Outcome, Place: s.Place, RatingDelta: s.Delta,
		}
		if s.Delta != nil {
			v.Seats[i].RatingBefore = &s.Before
		}
	}
	return v
}

// current returns the view of a match with its last round.
func (mv *matchViews) current(ctx context.Context, m visibility.Match) (matchView, error) {
	rounds, err := mv.visible.LastRounds(ctx, m)
	if err != nil {
		return matchView{}, err
	}
	return mv.withRound(m, rounds), nil
}

// page returns a page of matches, those that run with their last rounds: readers
// see what is going on before any stream tells.
func (mv *matchViews) page(ctx context.Context, f arena.MatchFilter, p arena.Page) (items []matchView, next string, err error) {
	matches, next, err := mv.visible.Matches(ctx, f, p)
	if err != nil {
		return nil, "", err
	}
	running := slices.DeleteFunc(slices.Clone(matches), func(m visibility.Match) bool { return m.Status != arena.MatchRunning })
	rounds, err := mv.visible.LastRounds(ctx, running...)
	if err != nil {
		return nil, "", err
	}
	for _, m := range matches {
		items = append(items, mv.withRound(m, rounds))
	}
	return items, next, nil
}

// withRound returns the view of a match with its round among those by match.
func (mv *matchViews) withRound(m visibility.Match, rounds map[string]arena.Round) matchView {
	v := mv.one(m)
	if round, ok := rounds[m.ID]; ok {
		v.CurrentRound = viewCurrentRound(round, m.Settings.TimeLimitIn(round.No))
	}
	return v
}

// answerPage answers with a page of matches.
func (mv *matchViews) answerPage(ctx context.Context, f arena.MatchFilter, p arena.Page) (*output[listOf[matchView]], error) {
	items, next, err := mv.page(ctx, f, p)
	if err != nil {
		return nil, err
	}
	return answerList(items, next)
}

func viewCurrentRound(r arena.Round, limit time.Duration) *currentRoundView {
	return &currentRoundView{
		Round: r.No, Task: r.Stated(), StartedAt: jsonTime(r.OpenedAt), Deadline: jsonTime(r.OpenedAt.Add(limit + r.Turn.LongestBank())),
		Closed: !r.ClosedAt.IsZero(), Interrupted: r.Interruptions > 0, GameState: r.Turn.GameState,
	}
}

// viewRound returns the view of a round of a match with these seats.
func viewRound(r visibility.ClosedRound, seats []arena.Seat) roundView {
	v := roundView{
		Round: r.No, Task: r.Stated(), StartedAt: jsonTime(r.OpenedAt), ClosedAt: jsonTime(r.ClosedAt),
		Interrupted: r.Interruptions > 0, Correct: r.Task.Correct(), Seats: []arena.ClosedSeat{},
		GameState: r.Turn.GameState, Moves: r.Game.Moves,
	}
	if len(r.Game.State) > 0 {
		v.State = r.Game.State
	}
	for _, p := range r.Turn.Prompts {
		shown := promptView{AgentID: seats[p.Seat].AgentID, Description: p.Description, Options: p.Options}
		if len(p.Observation) > 0 {
			shown.Observation = p.Observation
		}
		v.Prompts = append(v.Prompts, shown)
	}
	for _, an := range r.Answers {
		v.Seats = append(v.Seats, an.Closed())
	}
	return v
}

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
		if err := strictjson.UnmarshalWhole(value, into); err != nil {
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
		Description: "A turn-based game instead of tasks and a judge (GET /v1/games lists them). All other fields are options of the game: integers, 1 for yes and 0 for no.",
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
		AdditionalProperties: &huma.Schema{Type: huma.TypeInteger},
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
