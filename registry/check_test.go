package registry_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

func TestService_Check(t *testing.T) {
	t.Parallel()
	s := newService(t)
	g := s.agent("ant")
	_, err := s.Service.Check(t.Context(), alice(), g.ID)
	s.ok(err)
	_, found, err := s.FullCheck(t.Context(), alice(), g.ID)
	if s.ok(err); !found.Passed || s.checks != 1+20 {
		t.Errorf("%+v after %d checks", found, s.checks)
	}
	// Threat S7: an endpoint that never passed a check gets no tasks.
	down, _, err := s.Register(t.Context(), alice(), arena.Registration{Name: "down", Protocol: arena.ProtocolAAP, Endpoint: "https://down.example"})
	s.ok(err)
	_, _, err = s.FullCheck(t.Context(), alice(), down.ID)
	s.fails(err, arena.CodeAgentNotReady)
	polls, _, err := s.Register(t.Context(), alice(), arena.Registration{Name: "polls", Protocol: arena.ProtocolAgora})
	s.ok(err)
	_, _, err = s.FullCheck(t.Context(), alice(), polls.ID)
	s.ok(err)
	_, err = s.Service.Check(t.Context(), bob(), g.ID)
	s.fails(err, arena.CodeNotFound)
	s.most = s.checks + 19
	_, _, err = s.FullCheck(t.Context(), alice(), g.ID)
	s.fails(err, arena.CodeRateLimited)
	acts := slices.DeleteFunc(s.audited(), func(line string) bool { return !strings.Contains(line, "check-agent") })
	if d := cmp.Diff([]string{
		"ow_alice to_alice check-agent " + polls.ID + "  ", "ow_alice to_alice check-agent ag_ant  ", "ow_alice to_alice check-agent ag_ant  ",
	}, acts); d != "" {
		t.Error(d)
	}
}

// An agent is checked in full again once it has declared another version, not
// too soon after the last full check, and only once.
func TestService_Recheck(t *testing.T) {
	t.Parallel()
	s := newService(t)
	g := s.agent("ant")
	_, _, err := s.FullCheck(t.Context(), alice(), g.ID)
	s.ok(err)
	after := func(d time.Duration, kits int) {
		t.Helper()
		s.advance(d)
		s.ok(s.Recheck(t.Context()))
		if s.kits != kits {
			t.Errorf("%d runs of the kit, want %d", s.kits, kits)
		}
	}
	after(time.Hour, 1)
	version := "2"
	_, _, err = s.FullCheck(t.Context(), alice(), g.ID)
	s.ok(err)
	_, err = s.Update(t.Context(), alice(), g.ID, arena.AgentUpdate{Version: &version})
	s.ok(err)
	after(9*time.Minute, 2)
	after(2*time.Minute, 3)
	after(time.Hour, 3)
	found, err := s.store.Agents.Conformance(t.Context(), g.ID)
	if s.ok(err); found.Version != version {
		t.Errorf("checked version %q", found.Version)
	}
}

// Threat N4: the checks of one server are counted over all owners; a full check
// counts for many. An agent without an endpoint has no server.
func TestService_Check_host(t *testing.T) {
	t.Parallel()
	s := newService(t)
	endpoint := "https://hosting.example"
	mine, _, err := s.Register(t.Context(), alice(), arena.Registration{Name: "mine", Protocol: arena.ProtocolAAP, Endpoint: endpoint})
	s.ok(err)
	theirs, _, err := s.Register(t.Context(), bob(), arena.Registration{Name: "theirs", Protocol: arena.ProtocolAAP, Endpoint: endpoint})
	s.ok(err)
	polls, _, err := s.Register(t.Context(), bob(), arena.Registration{Name: "polls", Protocol: arena.ProtocolAgora})
	s.ok(err)
	s.hosts["key of "+endpoint], s.hosts[""] = 1+21, 1
	_, err = s.Service.Check(t.Context(), alice(), mine.ID)
	s.ok(err)
	_, _, err = s.FullCheck(t.Context(), bob(), theirs.ID)
	s.ok(err)
	for _, c := range []struct {
		caller arena.Caller
		agent  arena.Agent
	}{{alice(), mine}, {bob(), theirs}, {admin(), mine}} {
		_, err := s.Service.Check(t.Context(), c.caller, c.agent.ID)
		s.fails(err, arena.CodeRateLimited)
	}
	_, err = s.Service.Check(t.Context(), bob(), polls.ID)
	s.ok(err)
	// A change is stored even if its check must wait.
	s.checkErr = arena.Errorf(arena.CodeRateLimited, "too many requests to this address")
	moved := "https://moved.example"
	after, err := s.Update(t.Context(), alice(), mine.ID, arena.AgentUpdate{Endpoint: &moved})
	if s.ok(err); after.Endpoint != moved || after.StatusAt(start) != arena.AgentPending {
		t.Errorf("moved: %+v", after)
	}
}
