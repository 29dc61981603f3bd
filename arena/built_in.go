package arena

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// The opponents for games that come with the program.
const (
	BuiltInRandom = "random" // plays any legal move
	BuiltInGreedy = "greedy" // takes what wins or gains at once
	BuiltInSearch = "search" // looks ahead
)

// The bounds of built-in opponents.
const (
	MaxBuiltIn = 8 // of a league

	leastKnown, mostKnown, knownStep = 5, 95, 5 // percent of the questions that a player knows
	builtInConcurrent                = 1000     // matches that one plays at once
)

// BuiltInKind is a row of the table of built-in opponents, which leagues name
// (Settings.BuiltIn).
type BuiltInKind struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Fits  string `json:"fits" enum:"games,questions" doc:"games: the games that come with the program. questions: leagues whose judge compares an answer with a key that can be written down."`
	Known int    `json:"known_percent,omitempty" doc:"The share of the questions whose answer it knows."`
}

// What built-in opponents play.
const (
	BuiltInGames     = "games"
	BuiltInQuestions = "questions"
)

// BuiltInKinds returns the table of built-in opponents.
func BuiltInKinds() []BuiltInKind {
	kinds := []BuiltInKind{
		{Name: BuiltInRandom, Title: "Random", Fits: BuiltInGames},
		{Name: BuiltInGreedy, Title: "Greedy", Fits: BuiltInGames},
		{Name: BuiltInSearch, Title: "Search", Fits: BuiltInGames},
	}
	for known := leastKnown; known <= mostKnown; known += knownStep {
		kinds = append(kinds, BuiltInKind{Name: fmt.Sprintf("p%02d", known), Title: "Knows " + strconv.Itoa(known) + " %", Fits: BuiltInQuestions, Known: known})
	}
	return kinds
}

// BuiltInOf returns the row of a built-in opponent by its name.
func BuiltInOf(name string) (k BuiltInKind, ok bool) {
	kinds := BuiltInKinds()
	i := slices.IndexFunc(kinds, func(k BuiltInKind) bool { return k.Name == name })
	if i < 0 {
		return BuiltInKind{}, false
	}
	return kinds[i], true
}

// BuiltInOwner returns the owner of all built-in opponents. It has no token, so that
// nobody acts for it, and being one owner it keeps them from being rated against each
// other.
func BuiltInOwner(at time.Time) Owner {
	return Owner{ID: BuiltInOwnerID(), Name: "Built-in opponents", CreatedAt: at}
}

// BuiltInOwnerID returns the id of BuiltInOwner, which is the same in every arena.
func BuiltInOwnerID() string { return fixedID(OwnerPrefix, "built in") }

// Agent returns the agent that plays for a built-in opponent in all leagues of an
// arena. Its id is the same in every arena, and sorts before all that NewID makes.
func (k BuiltInKind) Agent(at time.Time) Agent {
	return Agent{
		ID: fixedID(AgentPrefix, "built in "+k.Name), OwnerID: BuiltInOwnerID(), Name: k.Title + " (built in)", Protocol: ProtocolBuiltIn,
		CreatedAt: at, PassedAt: at, Health: BuiltInHealth(at), Description: k.description(),
	}
}

func (k BuiltInKind) description() string {
	switch k.Name {
	case BuiltInRandom:
		return "Comes with the program. Plays any legal move."
	case BuiltInGreedy:
		return "Comes with the program. Takes what wins or gains at once."
	case BuiltInSearch:
		return "Comes with the program. Looks ahead."
	}
	return fmt.Sprintf("Comes with the program. Knows the answer to %d %% of the questions.", k.Known)
}

// BuiltInHealth returns the health of a built-in opponent, which is part of the
// program that asks.
func BuiltInHealth(at time.Time) Health {
	return Health{OK: true, CheckedAt: at, MaxConcurrent: builtInConcurrent}
}

// BuiltIn reports whether the agent comes with the program.
func (a Agent) BuiltIn() bool { return a.Protocol == ProtocolBuiltIn }

// NotBuiltIn returns an error if the agent comes with the program.
func (a Agent) NotBuiltIn() error {
	if !a.BuiltIn() {
		return nil
	}
	return Errorf(CodeForbidden, "agent %s comes with the program: the field built_in of leagues enters and withdraws it", a.ID)
}

// fixedID returns an id that depends on a name alone. It sorts before all that NewID
// makes.
func fixedID(prefix, name string) string {
	b, sum := idBytes(time.UnixMilli(0)), sha256.Sum256([]byte(name))
	copy(b[6:], sum[:])
	return prefix + idAlphabet.EncodeToString(b[:])
}
