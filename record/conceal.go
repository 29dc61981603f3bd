package record

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// members is the list of the members of an object that stay in a record. All others are committed to: members in texts one by one, the rest
// together in a Text named body. So a member that a later version adds to an
// event counts as a text until it is listed here.
type members struct {
	keep  []string
	texts []string
	lists map[string]members // arrays of objects
}

// commonMembers lists the members that every event has around its body.
func commonMembers() []string {
	return []string{"seq", "match_id", "round", "agent_id", "ts", "type"}
}

// membersOf returns the members of an event. In a sealed match, commitment is
// the arena's commitment to the hidden part.
func membersOf(t arena.EventType, sealed bool) members {
	seat := members{keep: []string{"agent_id", "points", "place", "state"}, texts: []string{"name", "version"}}
	var v members
	switch t {
	case arena.EventMatchScheduled:
		v = members{keep: []string{"league", "starts_at", "rated"}, lists: map[string]members{"seats": seat}}
	case arena.EventMatchStarted:
		v = members{
			keep:  []string{"league", "format", "visibility", "rated", "total_rounds", "seed_commitment", "rules_version", "game"},
			lists: map[string]members{"seats": seat},
		}
	case arena.EventMatchFinished:
		v = members{keep: []string{"league", "rated", "rating_changes"}, lists: map[string]members{"seats": seat}}
	case arena.EventRoundStarted: // see concealer.event for the task
		v = members{keep: []string{"time_limit_seconds", "deadline", "interrupted", "seats_to_act", "time_banks", "state"}, texts: []string{"task"}}
	case arena.EventVoteOpened:
		v = members{keep: []string{"until", "criteria"}, texts: []string{"entries"}}
	case arena.EventReveal:
		v = members{lists: map[string]members{"events": {keep: []string{"seq", "agent_id"}, texts: []string{"hidden"}}}}
	case arena.EventRoundClosed:
		v = members{keep: []string{"correct", "standings", "state"}, lists: map[string]members{
			"seats":   {keep: []string{"agent_id", "points", "outcome", "over_max_tokens", "reason", "elapsed_ms"}, texts: []string{"answer"}},
			"ballots": {keep: []string{"judge", "first", "second", "choice", "votes"}, texts: []string{"reason"}},
			"moves":   {keep: []string{"agent_id", "legal"}, texts: []string{"move"}},
		}}
	case arena.EventAgentPaused, arena.EventAgentResumed:
		v = members{keep: []string{"reason", "until"}, texts: []string{"name"}}
	case arena.EventAgentLeft:
		v = members{keep: []string{"outcome", "reason"}}
	case arena.EventSeatOutcome:
		v = members{keep: []string{"outcome", "reason", "elapsed_ms", "attempts"}}
	default: // reported by an agent
	}
	v.keep = append(v.keep, commonMembers()...)
	if sealed {
		v.keep = append(v.keep, "commitment")
	}
	return v
}

// concealer puts commitments in the place of what people wrote and chose.
type concealer struct {
	sealed bool
	salts  map[string]string       // keys of the agents' salts, by agent id
	shared []byte                  // key of the salts of texts of several people
	tasks  map[int]json.RawMessage // as the arena made them, by round
	erased map[string]string       // commitments of erased texts, by pointer into the record

	// drops reports whether event leaves the texts of an owner in a round out of its
	// second result; nil: none.
	drops  func(owner string, round int) bool
	rounds map[int64]int // of events, by seq
	notice string        // takes the place of dropped texts; "": values without content do
}

func newConcealer(r Rows) (*concealer, error) {
	s := r.Match.Settings
	c := &concealer{
		sealed: s.Visibility.Sealed() || s.UntilEnd(), salts: map[string]string{}, tasks: map[int]json.RawMessage{}, erased: r.Erased,
		rounds: map[int64]int{},
	}
	for _, e := range r.Events {
		c.rounds[e.Seq] = e.Round
	}
	// The shared key is gone as soon as one agent's key is.
	shared := sha256.New()
	for _, s := range r.Match.Seats {
		c.salts[s.AgentID] = s.Salt
		shared.Write([]byte(s.Salt + "\x00"))
	}
	c.shared = shared.Sum(nil)
	for _, round := range r.Rounds {
		task, err := strictjson.CanonicalOf(round.Stated())
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", round.No, err)
		}
		c.tasks[round.No] = task
	}
	return c, nil
}

// text commits to a value at a place of the record. The salts of a match follow
// from one key per agent and the place, so that every copy of the record has the
// same, and to delete the key deletes them all.
func (c *concealer) text(pointer, owner string, value json.RawMessage) (Text, error) {
	if commitment, ok := c.erased[pointer]; ok {
		return Text{Commitment: commitment}, nil
	}
	value, err := strictjson.Canonical(value)
	if err != nil {
		return Text{}, err
	}
	key := c.shared
	if salt := c.salts[owner]; salt != "" {
		key = []byte(salt)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("arena-salt-1\x00" + pointer))
	salt := mac.Sum(nil)[:saltSize]
	return Text{Commitment: commitmentOf(salt, value), Salt: base64.RawURLEncoding.EncodeToString(salt), Value: value}, nil
}

// event returns event i (0-based) with commitments, and its body as it was but for
// the texts that are dropped; nil if there are none.
func (c *concealer) event(i int, e arena.Event, line json.RawMessage) (concealed, kept json.RawMessage, err error) {
	spec := membersOf(e.Type, c.sealed)
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil {
		return nil, nil, err
	}
	if e.Type == arena.EventRoundStarted && bytes.Equal(object["task"], c.tasks[e.Round]) {
		spec.keep = append(spec.keep, "task") // it holds no names
	}
	if isTranscript(object["state"]) { // what agents said to each other
		spec.keep = slices.DeleteFunc(slices.Clone(spec.keep), func(name string) bool { return name == "state" })
		spec.texts = append(spec.texts, "state")
	}
	pointer := "/log/" + strconv.Itoa(i)
	o := outcome{round: e.Round}
	hidden, rest, err := c.object(spec, object, pointer, "", &o)
	if err != nil {
		return nil, nil, err
	}
	for place, commitment := range c.erased {
		if within, ok := strings.CutPrefix(place, pointer+"/"); ok {
			if err := put(hidden, strings.Split(within, "/"), Text{Commitment: commitment}); err != nil {
				return nil, nil, fmt.Errorf("erased text %s: %w", place, err)
			}
		}
	}
	if concealed, err = strictjson.CanonicalOf(hidden); err != nil || !o.dropped {
		return concealed, nil, err
	}
	for _, common := range commonMembers() {
		delete(rest, common)
	}
	kept, err = strictjson.CanonicalOf(rest)
	return concealed, kept, err
}

// isTranscript reports whether the position of a game repeats what agents wrote.
func isTranscript(state json.RawMessage) bool {
	var position struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(state, &position) == nil && position.Kind == "transcript"
}

// outcome is what happened to an event besides its two results.
type outcome struct {
	round   int
	dropped bool
}

// roundOf returns the round of the texts in an object. In a reveal it is the round of
// the repeated event, otherwise the round of the event around the object.
func (c *concealer) roundOf(object map[string]json.RawMessage, around int) int {
	var seq int64
	if json.Unmarshal(object["seq"], &seq) != nil {
		return around
	}
	if round, ok := c.rounds[seq]; ok {
		return round
	}
	return around
}

// object returns an object with commitments, and the original without its dropped
// members.
func (c *concealer) object(spec members, object map[string]json.RawMessage, pointer, owner string, o *outcome) (concealed, kept map[string]any, err error) {
	if id, ok := object["agent_id"]; ok {
		if err := json.Unmarshal(id, &owner); err != nil {
			return nil, nil, err
		}
	}
	drops := c.drops != nil && c.drops(owner, c.roundOf(object, o.round))
	concealed, kept = map[string]any{}, map[string]any{}
	rest := map[string]json.RawMessage{}
	for name, value := range object {
		list, isList := spec.lists[name]
		switch {
		case slices.Contains(spec.keep, name), string(value) == "null" && (isList || slices.Contains(spec.texts, name)):
			concealed[name], kept[name] = value, value
		case isList:
			concealed[name], kept[name], err = c.list(list, value, pointer+"/"+name, owner, o)
		case slices.Contains(spec.texts, name):
			concealed[name], err = c.text(pointer+"/"+name, owner, value)
			if kept[name] = value; drops {
				kept[name], o.dropped = c.blank(name, value, o.round), true
			}
		default:
			rest[name] = value
			if kept[name] = value; drops {
				delete(kept, name)
				if c.notice != "" && value[0] == '"' {
					kept[name] = c.notice
				}
				o.dropped = true
			}
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if len(rest) > 0 {
		all, err := strictjson.CanonicalOf(rest)
		if err != nil {
			return nil, nil, err
		}
		if concealed["body"], err = c.text(pointer+"/body", owner, all); err != nil {
			return nil, nil, err
		}
	}
	return concealed, kept, nil
}

// list is object for the elements of an array.
func (c *concealer) list(spec members, value json.RawMessage, pointer, owner string, o *outcome) (concealed, kept []any, err error) {
	var objects []map[string]json.RawMessage
	if err := json.Unmarshal(value, &objects); err != nil {
		return nil, nil, err
	}
	concealed, kept = make([]any, len(objects)), make([]any, len(objects))
	for i, object := range objects {
		if concealed[i], kept[i], err = c.object(spec, object, pointer+"/"+strconv.Itoa(i), owner, o); err != nil {
			return nil, nil, err
		}
	}
	return concealed, kept, nil
}

// blank returns what takes the place of an erased value in a log: one of the
// same type.
func (c *concealer) blank(name string, value json.RawMessage, round int) any {
	switch {
	case name == "name":
		return arena.DeletedAgent
	case name == "task" && c.tasks[round] != nil:
		return c.tasks[round]
	case value[0] == '{' && name == "hidden" && c.notice != "":
		return map[string]any{"answer": c.notice}
	case value[0] == '{':
		return map[string]any{}
	case value[0] == '[':
		return []any{}
	case value[0] == '"':
		return c.notice
	}
	return nil
}

// put sets a member of a concealed object.
func put(v any, path []string, text Text) error {
	for ; len(path) > 1; path = path[1:] {
		switch container := v.(type) {
		case map[string]any:
			v = container[path[0]]
		case []any:
			i, err := strconv.Atoi(path[0])
			if err != nil || i < 0 || i >= len(container) {
				return fmt.Errorf("there is no element %s", path[0])
			}
			v = container[i]
		default:
			return fmt.Errorf("there is no member %s", path[0])
		}
	}
	object, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("there is no member %s", path[0])
	}
	object[path[0]] = text
	return nil
}

// roundAt returns the round of the text at a place of a record, 0 for a text of
// the whole match.
func roundAt(pointer string, r Record, events []arena.Event, seqs map[int64]int) int {
	var i, j int
	if _, err := fmt.Sscanf(pointer, "/rounds/%d/", &i); err == nil {
		return r.Rounds[i].Round
	}
	if _, err := fmt.Sscanf(pointer, "/log/%d/", &i); err != nil {
		return 0
	}
	if _, err := fmt.Sscanf(pointer, "/log/%d/events/%d/", &i, &j); err == nil { // a reveal
		var body struct{ Events []struct{ Seq int64 } }
		if json.Unmarshal(events[i].Body, &body) == nil && j < len(body.Events) {
			if round, ok := seqs[body.Events[j].Seq]; ok {
				return round
			}
		}
	}
	return events[i].Round
}
