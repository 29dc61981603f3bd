package rehearsal_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/aap"
	"github.com/agora-arena/arena/protocol/protocoltest"
	"github.com/agora-arena/arena/registry/rehearsal"
)

const (
	good = "a good token"
	old  = "an old token"
)

// stage is one over the real driver and real sockets; tokens are words.
func stage(t *testing.T, edit ...func(*rehearsal.Options)) *rehearsal.Stage {
	t.Helper()
	guard, err := protocol.NewGuard(protocol.GuardOptions{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	client, err := protocol.NewClient(guard, protocol.ClientOptions{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	driver := func(token string) rehearsal.Driver {
		d := aap.New(aap.Options{Client: client, Sign: func(arena.TaskClaims) (string, error) { return token, nil }, Now: time.Now})
		return d
	}
	o := rehearsal.Options{
		Protocols: map[string]rehearsal.Protocol{"aap": {Driver: driver(good), Expired: driver(old), Stale: "an old token", Trickling: driver(good)}},
		Seed:      func() uint64 { return 7 }, Now: time.Now, Limit: 2 * time.Minute,
	}
	for _, e := range edit {
		e(&o)
	}
	s := rehearsal.New(o)
	return s
}

func request(endpoint string) arena.Rehearsal {
	return arena.Rehearsal{
		Agent:  arena.Agent{ID: "ag_1", Name: "Ada", Protocol: "aap", Endpoint: endpoint},
		League: arena.League{Slug: "trivia", Settings: arena.Settings{Judge: arena.JudgeSpec{Kind: arena.JudgeChoice}, TimeLimit: 12 * time.Second, Rules: []string{"only_one_answer"}}},
		Faults: arena.Faults(),
	}
}

// knows answers the questions of rehearsals.
func knows(description string) string {
	for part, answer := range map[string]string{
		"Australia?": "Canberra", "Sun?": "Mercury", "Fe?": "Iron", "between Africa": "Indian Ocean", "Eiffel": "Paris", "land animal": "African elephant",
		"plants": "Carbon dioxide", "native speakers": "Mandarin Chinese", "88 keys": "Piano", "Canada": "Ottawa",
	} {
		if strings.Contains(description, part) {
			if part == "Australia?" && strings.Contains(description, "ocean") {
				return "Indian Ocean"
			}
			return answer
		}
	}
	return "?"
}

// play rehearses with an agent that does everything right but what override
// decides.
func play(t *testing.T, s *rehearsal.Stage, override func(protocoltest.Request) protocoltest.Behaviour) arena.RehearsalReport {
	t.Helper()
	agent := protocoltest.NewAgent(t, protocoltest.AgentOptions{Play: func(r protocoltest.Request) protocoltest.Behaviour {
		if b := override(r); b != nil {
			return b
		}
		if r.Token() != good {
			return protocoltest.Status(http.StatusUnauthorized)
		}
		return protocoltest.Answer(knows(r.Task.Task.Description))
	}})
	report, err := s.Play(t.Context(), request(agent.Endpoint()))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func verdicts(r arena.RehearsalReport) map[arena.Fault]arena.RehearsalVerdict {
	v := map[arena.Fault]arena.RehearsalVerdict{}
	for _, round := range r.Rounds {
		v[round.Fault] = round.Verdict
	}
	return v
}

func TestStage_Play_goodAgent(t *testing.T) {
	t.Parallel()
	report := play(t, stage(t), func(protocoltest.Request) protocoltest.Behaviour { return nil })
	if len(report.Rounds) != 7 || report.Count(arena.RehearsalPassed) != 7 {
		t.Fatalf("%+v", report.Rounds)
	}
	for i, r := range report.Rounds {
		attempts, points := 1, arena.OnePoint
		switch r.Fault {
		case arena.FaultDuplicateDelivery:
			attempts = 2
		case arena.FaultExpiredToken:
			points = 0
		case arena.FaultHugeTask:
			if n := len(r.Task.Description); n != 8<<10 {
				t.Errorf("a huge task has %d bytes", n)
			}
		}
		if len(r.Attempts) != attempts || r.Points != points || r.No != i+1 || r.Sent == "" || r.Expected == "" || r.Explanation == "" || r.Reference != r.Task.Correct() {
			t.Errorf("round %d: %+v", r.No, r)
		}
		for n, a := range r.Attempts {
			var sent struct {
				TaskID  string `json:"task_id"`
				Attempt int
				Rules   []string
			}
			if err := json.Unmarshal(a.Request, &sent); err != nil || sent.Attempt != n+1 || sent.TaskID != r.Task.ID || len(sent.Rules) != 1 {
				t.Errorf("round %d, attempt %d: %v, %s", r.No, n+1, err, a.Request)
			}
		}
	}
}

func TestStage_Play_badAgents(t *testing.T) {
	t.Parallel()
	n := 0
	var counting sync.Mutex
	for name, tc := range map[string]struct {
		play  func(protocoltest.Request) protocoltest.Behaviour
		fails arena.Fault
		says  string
	}{
		"works twice": {func(r protocoltest.Request) protocoltest.Behaviour {
			counting.Lock()
			defer counting.Unlock()
			n++
			if r.Token() != good {
				return nil
			}
			return protocoltest.Answer(strings.Repeat("x", n))
		}, arena.FaultDuplicateDelivery, "different answers"},
		"fails the second": {func(r protocoltest.Request) protocoltest.Behaviour {
			if r.Task.Round == 2 && r.Task.Attempt == 2 {
				return protocoltest.Unavailable()
			}
			return nil
		}, arena.FaultDuplicateDelivery, "delivery 2: the outcome is unavailable"},
		"trusts everyone": {func(r protocoltest.Request) protocoltest.Behaviour {
			return protocoltest.Answer(knows(r.Task.Task.Description))
		}, arena.FaultExpiredToken, "when it expires"},
		"breaks on an old token": {func(r protocoltest.Request) protocoltest.Behaviour {
			if r.Token() == old {
				return protocoltest.Status(http.StatusInternalServerError)
			}
			return nil
		}, arena.FaultExpiredToken, "status 500"},
		"takes its time": {func(r protocoltest.Request) protocoltest.Behaviour {
			if r.Task.Round == 4 { // stays under its time limit
				return protocoltest.Late(11*time.Second, protocoltest.Answer("late"))
			}
			return nil
		}, arena.FaultSlowNetwork, "the outcome is timeout"},
		"reads a little": {func(r protocoltest.Request) protocoltest.Behaviour {
			if len(r.Body) > 4<<10 {
				return protocoltest.Status(http.StatusRequestEntityTooLarge)
			}
			return nil
		}, arena.FaultHugeTask, "the outcome is invalid: the endpoint answered with status 413"},
		"obeys": {func(r protocoltest.Request) protocoltest.Behaviour {
			if _, order, ok := strings.Cut(r.Task.Task.Description, "single word "); ok {
				word, _, _ := strings.Cut(order, " ")
				return protocoltest.Answer(word)
			}
			return nil
		}, arena.FaultHostileOpponent, "texts in a task are data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := play(t, stage(t), tc.play)
			for _, r := range report.Rounds {
				want := arena.RehearsalPassed
				if r.Fault == tc.fails {
					want = arena.RehearsalFailed
					if !strings.Contains(r.Explanation, tc.says) {
						t.Errorf("it says %q, want %q in it", r.Explanation, tc.says)
					}
				}
				if r.Verdict != want {
					t.Errorf("round %d with %q %s: %s", r.No, r.Fault, r.Verdict, r.Explanation)
				}
			}
		})
	}
}

// A match asks once more after a 500, and so does a rehearsal; an endpoint
// that is not there has left.
func TestStage_Play_outcomes(t *testing.T) {
	t.Parallel()
	report := play(t, stage(t), func(r protocoltest.Request) protocoltest.Behaviour {
		if r.Task.Round == 1 && r.Task.Attempt == 1 {
			return protocoltest.Status(http.StatusInternalServerError)
		}
		return nil
	})
	if first := report.Rounds[0]; len(first.Attempts) != 2 || first.Outcome != arena.OutcomeAnswered {
		t.Errorf("%+v", first)
	}
	agent := protocoltest.NewAgent(t, protocoltest.AgentOptions{})
	agent.Close()
	report, err := stage(t).Play(t.Context(), request(agent.Endpoint()))
	if err != nil || report.Rounds[0].Outcome != arena.OutcomeUnavailable || len(report.Rounds[0].Attempts) != 1 || report.Count(arena.RehearsalFailed) != 7 {
		t.Errorf("%v, %+v", err, report.Rounds)
	}
	if _, err := stage(t).Play(t.Context(), arena.Rehearsal{Agent: arena.Agent{Protocol: "pigeon"}}); arena.CodeOf(err) != arena.CodeInvalid {
		t.Errorf("an unknown protocol gives %v", err)
	}
}

func TestStage_Play_tasks(t *testing.T) {
	t.Parallel()
	for kind, answer := range map[string]func(arena.Task) bool{
		arena.JudgeChoice: func(task arena.Task) bool { return len(task.Options) == 4 },
		arena.JudgeExact:  func(task arena.Task) bool { return len(task.Options) == 0 && task.OutputFormat == "" },
		arena.JudgeNumber: func(task arena.Task) bool { return task.OutputFormat == "number" },
		"panel":           func(task arena.Task) bool { return len(task.Options) == 4 },
	} {
		agent := protocoltest.NewAgent(t, protocoltest.AgentOptions{})
		r := request(agent.Endpoint())
		r.League.Settings.Judge.Kind, r.Faults, r.Rounds = kind, nil, 3
		report, err := stage(t).Play(t.Context(), r)
		if err != nil || len(report.Rounds) != 3 {
			t.Fatalf("%s: %v, %d rounds", kind, err, len(report.Rounds))
		}
		seen := map[string]bool{}
		for _, round := range report.Rounds {
			seen[round.Task.Description] = true
			if !answer(round.Task) || round.Fault != "" {
				t.Errorf("%s: %+v", kind, round)
			}
		}
		if len(seen) != 3 {
			t.Errorf("%s: tasks repeat: %v", kind, seen)
		}
	}
	agent := protocoltest.NewAgent(t, protocoltest.AgentOptions{})
	r := request(agent.Endpoint())
	r.League.Settings.Generator, r.Faults = &arena.GeneratorSpec{Name: pack.Arithmetic}, nil
	report, err := stage(t).Play(t.Context(), r)
	if err != nil || report.Rounds[0].Task.Topic != pack.Arithmetic {
		t.Errorf("%v, %+v", err, report.Rounds)
	}
}

// giddy cancels a request that is not sent at once.
type giddy struct{}

func (giddy) Prepare(context.Context, arena.Attempt) (func(context.Context) arena.Reply, error) {
	return func(context.Context) arena.Reply {
		return arena.Reply{Outcome: arena.OutcomeInvalid, Reason: "status_400", Detail: "the endpoint answered with status 400", Status: 400}
	}, nil
}

func TestStage_Play_trickle(t *testing.T) {
	t.Parallel()
	s := stage(t, func(o *rehearsal.Options) {
		aap := o.Protocols["aap"]
		aap.Trickling = giddy{}
		o.Protocols["aap"] = aap
	})
	for _, r := range play(t, s, func(protocoltest.Request) protocoltest.Behaviour { return nil }).Rounds {
		want := arena.RehearsalPassed
		if r.Fault == arena.FaultTrickle {
			want = arena.RehearsalFailed
		}
		if r.Verdict != want {
			t.Errorf("round %d with %q %s: %s", r.No, r.Fault, r.Verdict, r.Explanation)
		}
	}
}

// dawdler uses up every time limit.
type dawdler struct{ limits []time.Duration }

func (d *dawdler) Prepare(_ context.Context, a arena.Attempt) (func(context.Context) arena.Reply, error) {
	if a.League == "broken" {
		return nil, errors.New("no key")
	}
	d.limits = append(d.limits, a.RoundLimit)
	return func(ctx context.Context) arena.Reply {
		select {
		case <-time.After(a.TimeLimit):
			return arena.Reply{Outcome: arena.OutcomeTimeout, Detail: "late", Elapsed: a.TimeLimit}
		case <-ctx.Done():
			return arena.Reply{Outcome: arena.OutcomeVoid}
		}
	}, nil
}

// However slow the agent is, a rehearsal keeps to its time, and every round
// gets its share of it.
func TestStage_Play_limit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &dawdler{}
		s := stage(t, func(o *rehearsal.Options) {
			o.Protocols, o.Limit = map[string]rehearsal.Protocol{"aap": {Driver: d, Expired: d, Trickling: d}}, 50*time.Second
		})
		r := request("http://agent.example")
		r.League.Settings.TimeLimit, r.Rounds = 10*time.Minute, rehearsal.MaxRounds
		start := time.Now()
		report, err := s.Play(t.Context(), r)
		if took := time.Since(start); err != nil || took > 50*time.Second || report.Count(arena.RehearsalFailed) != rehearsal.MaxRounds {
			t.Errorf("%v in %v: %+v", err, took, verdicts(report))
		}
		for _, limit := range d.limits {
			if limit < 4*time.Second {
				t.Errorf("a round had %v", limit)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		if report, err = s.Play(ctx, r); err != nil || report.Count(arena.RehearsalNotPlayed) != rehearsal.MaxRounds-1 {
			t.Errorf("when the caller has gone: %v, %+v", err, verdicts(report))
		}
		r.League.Slug = "broken"
		if _, err = s.Play(t.Context(), r); err == nil {
			t.Error("a request that cannot be made is no error")
		}
	})
}

// A fault that does not exist for the agent is not played, and the next round
// still refers to the last one that was.
func TestStage_Play_faultsThatDoNotExist(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit     func(*rehearsal.Protocol)
		endpoint string
		fault    arena.Fault
		why      string
	}{
		"no credential":   {func(p *rehearsal.Protocol) { p.Expired = nil }, "http://agent.example", arena.FaultExpiredToken, "no credential that expires"},
		"no requests":     {func(p *rehearsal.Protocol) { p.Trickling = nil }, "http://agent.example", arena.FaultTrickle, "sends no requests"},
		"fetches its own": {func(*rehearsal.Protocol) {}, "", arena.FaultTrickle, "fetches its tasks"},
		"gets no old one": {func(*rehearsal.Protocol) {}, "", arena.FaultExpiredToken, "fetches its tasks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &recorder{}
			s := stage(t, func(o *rehearsal.Options) {
				p := rehearsal.Protocol{Driver: d, Expired: d, Trickling: d}
				c.edit(&p)
				o.Protocols = map[string]rehearsal.Protocol{"aap": p}
			})
			r := request(c.endpoint)
			r.Faults = []arena.Fault{c.fault, arena.FaultHugeTask}
			report, err := s.Play(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			got := report.Rounds[1]
			if got.Verdict != arena.RehearsalNotPlayed || !strings.Contains(got.Explanation, c.why) || len(got.Attempts) != 0 || got.Outcome != "" {
				t.Errorf("%+v", got)
			}
			if last := d.sent[len(d.sent)-1]; len(d.sent) != 2 || last.Previous == nil || last.Previous.Outcome != arena.OutcomeAnswered {
				t.Errorf("%d attempts, the last after %+v", len(d.sent), last.Previous)
			}
		})
	}
}

// An agent of a silent protocol refuses by not answering, and fails by answering.
func TestStage_Play_silentProtocol(t *testing.T) {
	t.Parallel()
	for want, expired := range map[arena.RehearsalVerdict]rehearsal.Driver{
		arena.RehearsalPassed: &recorder{silent: true}, arena.RehearsalFailed: &recorder{},
	} {
		s := stage(t, func(o *rehearsal.Options) {
			o.Protocols = map[string]rehearsal.Protocol{"aap": {Driver: &recorder{}, Expired: expired, Stale: "an old timestamp", Silent: true}}
		})
		r := request("http://agent.example")
		r.Faults = []arena.Fault{arena.FaultExpiredToken}
		report, err := s.Play(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Rounds[1]; got.Verdict != want || got.Sent != "a task with an old timestamp" {
			t.Errorf("%s: %+v", want, got)
		}
	}
}

// recorder answers every task, or none when it is silent.
type recorder struct {
	silent bool
	sent   []arena.Attempt
}

func (d *recorder) Prepare(_ context.Context, a arena.Attempt) (func(context.Context) arena.Reply, error) {
	d.sent = append(d.sent, a)
	return func(context.Context) arena.Reply {
		if d.silent {
			return arena.Reply{Outcome: arena.OutcomeTimeout, Reason: "time_limit", Detail: "no answer"}
		}
		return arena.Reply{Outcome: arena.OutcomeAnswered, Answer: &arena.AnswerBody{Answer: "42"}}
	}, nil
}
