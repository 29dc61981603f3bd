package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Nodes count together after each has counted alone; when they cannot, a
// node's own count holds. Threat C4.
func TestQuota_Take(t *testing.T) {
	t.Parallel()
	var asked []string
	var down, exceeded bool
	s := New(Options{
		Limits: Limits{SignUpsPerHour: 2, AddressPerMinute: 1}, Now: func() time.Time { return start }, Logger: slog.New(slog.DiscardHandler),
		Shared: func(_ context.Context, key string, limit int, window time.Duration) (time.Duration, bool, error) {
			if asked = append(asked, key); down {
				return 0, false, errors.New("down")
			}
			return 1500 * time.Millisecond, !exceeded, nil
		},
	})
	take := func(q *Quota, want int) {
		t.Helper()
		err := q.Take(t.Context(), "2001:db8:1:2:3::4")
		var e *arena.Error
		if want == 0 && err != nil || want > 0 && (!errors.As(err, &e) || e.Code != arena.CodeRateLimited || e.RetryAfter != time.Duration(want)*time.Second) {
			t.Errorf("%+v, want to wait %d s", err, want)
		}
	}
	take(s.SignUp, 0)
	down = true
	take(s.SignUp, 0)
	take(s.SignUp, 1800)
	down, exceeded = false, true
	for range 3 { // only over all nodes: this one has counted the address already
		take(s.Guess, 2)
	}
	take(s.Address, 0) // counts on this node only
	take(s.Address, 60)
	take(s.Password, 0) // no limit
	want := []string{
		"signup:2001:db8:1:2::/64", "signup:2001:db8:1::/48", "signup:2001:db8:1:2::/64", "signup:2001:db8:1::/48",
		"login:2001:db8:1:2::/64", "login:2001:db8:1:2::/64", "login:2001:db8:1:2::/64",
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked the other nodes for %q, want %q", asked, want)
	}
	refused := s.Refusals()
	if refused["signup"] != 1 || refused["guess"] != 3 || refused["address"] != 1 || refused["password"] != 0 {
		t.Errorf("counted the refusals %v", refused)
	}
	quotas := 0
	for f := range reflect.TypeFor[Set]().Fields() {
		if f.Type == reflect.TypeFor[*Quota]() {
			quotas++
		}
	}
	if len(refused) != quotas {
		t.Errorf("%d of %d quotas count their refusals", len(refused), quotas)
	}
}

// An address that has used its bytes is served again when they have come back;
// a request that was let in is charged in full. Threat V6.
func TestTraffic(t *testing.T) {
	t.Parallel()
	now := start
	traffic := newTraffic(3, 6000, func() time.Time { return now })
	take := func(address string, want int) {
		t.Helper()
		err := traffic.Take(address)
		var e *arena.Error
		if want == 0 && err != nil || want > 0 && (!errors.As(err, &e) || e.Code != arena.CodeRateLimited || e.RetryAfter != time.Duration(want)*time.Second) {
			t.Errorf("%s: %+v, want to wait %d s", address, err, want)
		}
	}
	for range 3 {
		take("192.0.2.1", 0)
	}
	take("192.0.2.1", 20)
	take("192.0.2.2", 0)
	traffic.Charge("192.0.2.2", 6000)
	traffic.Charge("192.0.2.2", 1000)
	take("192.0.2.2", 11) // 1001 bytes, 100 a second
	now = now.Add(11 * time.Second)
	take("192.0.2.2", 0)
	for i := range 8 { // a site
		traffic.Charge(fmt.Sprintf("2001:db8:1:%x::1", i), 6000)
	}
	take("2001:db8:1:ffff::1", 1)
	traffic.Charge("192.0.2.3", 1<<40) // more than a bucket holds
	take("192.0.2.3", 1)
	off := newTraffic(0, 0, func() time.Time { return now })
	for range 1000 {
		off.Charge("192.0.2.1", 1<<30)
		if err := off.Take("192.0.2.1"); err != nil {
			t.Fatal("a limit of zero is none")
		}
	}
}

// An owner pays for what judging its answers took, also more than it had left,
// and again has some when that has come back. Threat J9.
func TestQuota_Charge(t *testing.T) {
	t.Parallel()
	now := start
	var shared time.Duration
	s := New(Options{
		Limits: Limits{JudgingPerHour: 60}, Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler),
		Shared: func(_ context.Context, key string, limit int, window time.Duration) (time.Duration, bool, error) {
			if key != "judging:ow_1" || window != time.Hour {
				t.Errorf("asked the other nodes for %s in %v", key, window)
			}
			shared += time.Minute / time.Duration(limit)
			return time.Second, shared < time.Minute, nil
		},
	})
	s.Judging.Charge(t.Context(), "ow_1", 2500*time.Millisecond)
	if shared != 2500*time.Millisecond {
		t.Errorf("told the other nodes %v", shared)
	}
	if err := s.Judging.Check("ow_1"); err != nil {
		t.Error(err)
	}
	s.Judging.Charge(t.Context(), "ow_1", 59*time.Second)
	if shared != time.Minute+500*time.Millisecond {
		t.Errorf("told the other nodes %v", shared)
	}
	var e *arena.Error
	if err := s.Judging.Take(t.Context(), "ow_1"); !errors.As(err, &e) || e.Code != arena.CodeRateLimited || e.RetryAfter != 91*time.Second {
		t.Errorf("%+v", err)
	}
	now = now.Add(91 * time.Second)
	if err := s.Judging.Check("ow_1"); err != nil {
		t.Error(err)
	}
	s.Challenge.Charge(t.Context(), "ow_1", time.Hour) // no limit
}

// What is returned may be taken again, and no more than the limit.
func TestQuota_Return(t *testing.T) {
	t.Parallel()
	s := New(Options{Limits: Limits{ChecksPerMinute: 2}, Now: func() time.Time { return start }, Logger: slog.New(slog.DiscardHandler)})
	take := func() (taken int) {
		for s.Check.Take(t.Context(), "ow_1") == nil {
			taken++
		}
		return taken
	}
	if n := take(); n != 2 {
		t.Errorf("took %d, want 2", n)
	}
	s.Check.Return("ow_1")
	if n := take(); n != 1 {
		t.Errorf("took %d after one was returned", n)
	}
	for range 5 {
		s.Check.Return("ow_1")
		s.Check.Return("ow_2")
	}
	if n := take(); n != 2 {
		t.Errorf("took %d after five were returned, want 2", n)
	}
	s.Password.Return("ow_1") // no limit
}

// All tokens, keys and sessions of an owner share an allowance, and all owners of an
// address another: one person with 50 tokens sends as much as with one, a class of 100
// behind one address has enough, and a greedy one of them costs the others nothing.
// Threat V6.
func TestSet_Take(t *testing.T) {
	t.Parallel()
	s := New(Options{Limits: DefaultLimits(), Now: func() time.Time { return start }, Logger: slog.New(slog.DiscardHandler)})
	send := func(n int, token, owner, address string) (passed int) {
		for range n {
			err := s.Take(t.Context(), arena.Caller{TokenID: token, OwnerID: owner, Address: address})
			if err == nil {
				passed++
			} else if e, ok := errors.AsType[*arena.Error](err); !ok || e.Code != arena.CodeRateLimited || e.RetryAfter <= 0 {
				t.Fatalf("%+v", err)
			}
		}
		return passed
	}
	const school = "203.0.113.7"
	passed := 0
	for token := range 50 {
		passed += send(600, fmt.Sprint("to_", token), "ow_greedy", school)
	}
	if passed != 600 {
		t.Errorf("50 tokens of an owner sent %d requests at once, want 600", passed)
	}
	passed = 0
	for pupil := range 99 {
		passed += send(50, "to_x", fmt.Sprint("ow_", pupil), school)
	}
	if passed != 99*50 {
		t.Errorf("99 others of the class sent %d requests, want all %d", passed, 99*50)
	}
	passed = 0
	for owner := range 1000 {
		passed += send(600, "to_x", fmt.Sprint("ow_sybil", owner), "203.0.113.8")
	}
	if passed != 6000 {
		t.Errorf("1,000 owners at an address sent %d requests, want 6000", passed)
	}
	if got := send(600, "to_x", "ow_sybil999", "203.0.113.9"); got != 600 {
		t.Errorf("refusals of the address cost an owner %d requests", 600-got)
	}
	if got := send(700, "to_admin", "", school) + send(700, "to_other", "", "203.0.113.10"); got != 450+600 {
		t.Errorf("two admin tokens sent %d requests", got)
	}
	if s.Return(arena.Caller{OwnerID: "ow_sybil0", Address: "203.0.113.8"}); send(2, "to_x", "ow_sybil0", "203.0.113.8") != 1 {
		t.Error("what was returned cannot be used again")
	}
	passed = 0
	for network := range 0x10000 {
		passed += send(1, "to_x", fmt.Sprint("ow_v6", network), fmt.Sprintf("2001:db8:1:%x::1", network))
	}
	if passed != 6000*arena.SiteFactor {
		t.Errorf("a /48 sent %d requests", passed)
	}
}

// The docs state the default limits.
func TestDefaultLimits_documented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	text, l := strings.Join(strings.Fields(string(raw)), " "), DefaultLimits()
	for _, says := range []string{
		fmt.Sprintf("checked %d times a minute together", l.ChecksPerHost),
		fmt.Sprintf("API: %d requests per minute and address without a token, %d per minute and owner", l.AddressPerMinute, l.OwnerPerMinute),
		fmt.Sprintf("at most %d agents", l.AgentsPerOwner),
		fmt.Sprintf("%d a day for an owner, %d a day against one agent", l.ChallengesPerDay, l.ChallengedPerDay),
		fmt.Sprintf("%d s of processor time an hour for an owner", l.JudgingPerHour),
		fmt.Sprintf("%d tries an hour for an owner", l.PasswordsPerHour),
		fmt.Sprintf("%d open streams, %d sockets of AgentProtocol, %d,%03d waiting polls", l.StreamsPerAddress, l.SocketsPerAddress, l.PollsPerAddress/1000, l.PollsPerAddress%1000),
		fmt.Sprintf("%d,%03d requests a minute to `/v1/stream`", l.RequestsPerMinute/1000, l.RequestsPerMinute%1000),
		fmt.Sprintf("%d a minute to the pages, %d MiB a minute", l.PagesPerMinute, l.BytesPerMinute>>20),
	} {
		if !strings.Contains(text, says) {
			t.Errorf("docs/rules.md does not say %q", says)
		}
	}
}
