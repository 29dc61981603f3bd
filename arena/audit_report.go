package arena

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// AuditReport is the result of an audit of a league: cheats that played on a copy
// of it, and what the text of its tasks gives away (docs/leagues.md, "Audit").
type AuditReport struct {
	At        time.Time         `json:"at"` // zero: there was none yet
	Cheats    []AuditedCheat    `json:"cheats"`
	Opponents []AuditedOpponent `json:"opponents,omitempty"`
	Findings  []AuditFinding    `json:"findings"`

	Of     string    `json:"of,omitempty"`     // League.AuditedSettings of what was audited; "": not known
	Due    time.Time `json:"due,omitzero"`     // the league waits for another audit, which begins then; zero: it does not
	Reason string    `json:"reason,omitempty"` // why the last audit came to nothing; "": it did not
}

// AuditedOpponent is a built-in opponent that played on the copy, as a scale for the
// shares of cheats. Low and High are the 95 % interval of Share.
type AuditedOpponent struct {
	Name  string  `json:"name" doc:"As in built_in of leagues: p05 to p95."`
	Tried int     `json:"tried" doc:"Rounds that it played."`
	Share float64 `json:"share" doc:"Of them, those that it answered right, 0 to 1."`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Waits reports whether the league of the report waits for an audit. The receiver may
// be nil.
func (r *AuditReport) Waits() bool { return r != nil && !r.Due.IsZero() }

// RefusesAudit returns why a league with these settings cannot be audited, or "".
func (s Settings) RefusesAudit() string {
	switch {
	case s.Game != nil:
		return "it plays a game: only questions that have an answer are audited"
	case s.Debate != nil:
		return "its agents debate: only questions that have an answer are audited"
	}
	return ""
}

// AuditedSettings identifies what the result of an audit depends on beside the text of
// the questions: the settings of the league that decide how answers are judged and
// shown, and how many questions were removed or corrected.
func (l League) AuditedSettings() string {
	s := l.Settings
	body, err := json.Marshal([]any{s.Format, s.PackID, s.Generator, s.Judge, s.TimeLimit, s.Rated, s.Visibility, s.Debate, s.Game, l.RemovedTasks, l.CorrectedTasks})
	if err != nil {
		return "" // a tolerance that is no number, which settings do not allow
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// AuditStale reports whether the newest audit was of other settings.
func (l League) AuditStale() bool {
	return l.Audit != nil && l.Audit.Of != "" && l.Audit.Of != l.AuditedSettings()
}

// AuditedCheat is one cheat of an audit against chance. Low and High are the 95 %
// interval of Share.
type AuditedCheat struct {
	Name   string  `json:"name" doc:"silence, constant, first_option, echo, injection, copier, clones or late."`
	Tried  int     `json:"tried" doc:"Rounds, or matches of clones, that it played; 0: it was not tried, because a copy of the league has no such judge."`
	Share  float64 `json:"share" doc:"Of them, what it got by the cheat, 0 to 1."`
	Chance float64 `json:"chance" doc:"The share that chance gives, 0 to 1."`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Passed bool    `json:"passed" doc:"It was tried, and did not get more than chance gives."`
}

// AuditFinding is a property of a league's tasks or settings that lets agents guess
// or read answers. It names tasks by their numbers, and no answer.
type AuditFinding struct {
	Kind    string  `json:"kind" doc:"first_option, last_option, longest_option, shortest_option, option_position, answer_in_question, duplicates or short_delay."`
	Tasks   int     `json:"tasks" doc:"That have the property."`
	Of      int     `json:"of" doc:"Tasks that could have it."`
	Chance  float64 `json:"chance" doc:"The share of them that chance gives, 0 to 1."`
	Numbers []int   `json:"numbers,omitempty" doc:"The first of the tasks, by their numbers in the pack, where the property belongs to single tasks."`
}

// Names of AuditedCheat.
const (
	CheatSilence   = "silence"
	CheatConstant  = "constant"
	CheatFirst     = "first_option"
	CheatEcho      = "echo"
	CheatInjection = "injection"
	CheatCopier    = "copier"
	CheatClones    = "clones"
	CheatLate      = "late"
)

// Cheats returns the names of the cheats of an audit, in the order of a report.
func Cheats() []string {
	return []string{CheatSilence, CheatConstant, CheatFirst, CheatEcho, CheatInjection, CheatCopier, CheatClones, CheatLate}
}

// Kinds of AuditFinding.
const (
	FoundFirst     = "first_option"
	FoundLast      = "last_option"
	FoundLongest   = "longest_option"
	FoundShortest  = "shortest_option"
	FoundPosition  = "option_position"
	FoundContained = "answer_in_question"
	FoundDuplicate = "duplicates"
	FoundDelay     = "short_delay"
)
