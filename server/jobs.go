package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/mail"
	"github.com/agora-arena/arena/registry"
)

// job is work that is done again and again, once per interval in the whole
// cluster unless each is set.
type job struct {
	name  string
	every time.Duration
	each  bool // every node does it for itself
	run   func(ctx context.Context) error
}

const (
	usesEvery     = 10 * time.Second // a last use shows at most this late
	erasuresEvery = 10 * time.Second // after a match, for the texts of deleted owners in it
	logEvery      = time.Minute      // what was erased is in it for about as long
	mailsEvery    = 2 * time.Second  // people wait for them
	auditsEvery   = time.Minute      // organizers often change a new league at once
	mendEvery     = 10 * time.Second // a clock that was set back stops nothing for longer
)

func (s *Server) jobs() []job {
	giveBack := newSpareMemory().giveBack
	if s.opts.World.Now != nil { // simulated half minutes pass too fast for it
		giveBack = func() {}
	}
	jobs := []job{
		{name: scheduleJob, every: cmp.Or(s.opts.ScheduleEvery, time.Second), run: s.scheduler.Tick},
		{name: "schedule watch", every: 10 * time.Second, each: true, run: s.watchSchedule},
		{name: "clock", every: mendEvery, run: s.mendTimes},
		{name: "health", every: s.cfg.HealthInterval, run: func(ctx context.Context) error {
			report, err := s.sweeper.Sweep(ctx)
			s.metrics.sweep(report)
			return err
		}},
		{name: "network", every: 10 * time.Second, each: true, run: s.network.Watch},
		{name: "conformance", every: registry.RecheckEvery, run: s.ops.agents.Recheck},
		{name: "keys", every: time.Minute, each: true, run: s.keys.Reload},
		{name: "token uses", every: usesEvery, each: true, run: s.ops.accounts.StoreUses},
		{name: "erasures", every: erasuresEvery, run: func(ctx context.Context) error {
			_, err := s.ops.matches.EraseDeleted(ctx)
			return err
		}},
		{name: "database log", every: logEvery, run: s.store.TruncateLog},
		{name: "beat", every: arena.NodeSilence / 3, each: true, run: s.heartbeat},
		{name: "memory", every: 30 * time.Second, each: true, run: func(ctx context.Context) error {
			err := s.store.Forget(ctx)
			giveBack()
			return err
		}},
		// Often when matches are archived early, so that it happens about then.
		{name: "archive", every: min(max(s.cfg.ArchiveAfter, time.Second), 30*time.Second), run: s.archive},
		{name: "fit", every: time.Minute, run: (&fitter{store: s.store.Leagues, now: s.now, log: s.log, cooldown: map[string]time.Time{}}).run},
		{name: "judges", every: judgesEvery, run: s.newJudgeWatch().run},
		{name: "mail", every: time.Minute, run: func(ctx context.Context) error { return s.inBatches(ctx, time.Second, s.store.Messages.DropExpired) }},
		{name: "people", every: time.Hour, run: func(ctx context.Context) error {
			return errors.Join(
				s.inBatches(ctx, arena.SessionIdle, s.store.People.DropSessions),
				s.inBatches(ctx, invitationsKept, s.store.People.DropInvitations),
				s.inBatches(ctx, erasedIdentitiesKept, s.store.People.DropErasedIdentities),
				s.inBatches(ctx, mail.Kept, s.store.Outbox.DropMails),
				s.inBatches(ctx, time.Second, s.store.Outbox.DropMailLinks),
			)
		}},
		{name: "relay", every: 5 * time.Second, run: s.relay.Sweep},
		{name: "retention", every: 10 * time.Minute, run: s.retain},
	}
	if s.cfg.AuditLeagues {
		jobs = append(jobs, job{name: "audits", every: auditsEvery, run: s.ops.leagues.AuditDue})
	}
	if s.mailer != nil {
		jobs = append(jobs, job{name: "outbox", every: mailsEvery, run: s.mailer.Deliver})
	}
	if s.cfg.Backup.To != "" {
		jobs = append(jobs, job{name: "backup", every: 10 * time.Second, run: s.backUp}) // looks whether one is due
	}
	return jobs
}

// invitationsKept is how long an invitation that has expired stays in the list.
const invitationsKept = 30 * 24 * time.Hour

// erasedIdentitiesKept is longer than any token of an OIDC issuer lives, see
// internal/token.
const erasedIdentitiesKept = 367 * 24 * time.Hour

// heartbeat stores the heartbeat of this node with its state, for the other nodes.
func (s *Server) heartbeat(ctx context.Context) error {
	n := arena.Node{ID: s.node, Version: s.version(), StartedAt: s.startedAt, Draining: s.draining.Load()}
	n.LastError, n.LastErrorAt = s.lastError.read()
	return s.store.Operations.Heartbeat(ctx, n)
}

// mendTimes ends what a clock that was ahead would stop.
func (s *Server) mendTimes(ctx context.Context) error {
	mended, err := s.store.MendTimes(ctx)
	for table, n := range mended {
		s.log.Warn("times in the future are set to now: a clock was ahead of the database's", "table", table, "rows", n)
	}
	return err
}

// archive packs the logs of matches that have been over for long enough.
func (s *Server) archive(ctx context.Context) error {
	return s.inBatches(ctx, s.cfg.ArchiveAfter, s.store.Matches.ArchiveMatches)
}

// retain drops what has been kept for long enough.
func (s *Server) retain(ctx context.Context) error {
	return errors.Join(
		s.inBatches(ctx, s.cfg.KeepEvents, s.store.Matches.DropEvents),
		s.inBatches(ctx, s.cfg.KeepDeliveries, s.store.Matches.DropDeliveries),
	)
}

// cleanBatch is how many rows or matches a batch takes, so that players do
// not wait for long.
const cleanBatch = 100

// inBatches calls take until no row older than age is left. With age 0 it does
// nothing.
func (s *Server) inBatches(ctx context.Context, age time.Duration, take func(context.Context, time.Time, int) (int, error)) error {
	if age == 0 {
		return nil
	}
	before := s.now().Add(-age)
	for {
		n, err := take(ctx, before, cleanBatch)
		if err != nil || n < cleanBatch || ctx.Err() != nil {
			return err
		}
	}
}

// startJobs starts the timetable. The returned function stops it and waits
// for jobs that are at work; ctx ends them early.
func (s *Server) startJobs(ctx context.Context) (stop func()) {
	table := cron.New(cron.WithLocation(time.UTC), cron.WithChain(
		cron.Recover(cronLogger{s.log}), cron.SkipIfStillRunning(cron.DiscardLogger),
	))
	for _, j := range s.jobs() {
		table.Schedule(cron.Every(j.every), cron.FuncJob(func() { s.tick(ctx, j) }))
	}
	table.Start()
	return func() { <-table.Stop().Done() }
}

// tick runs a job, if no other node has taken this tick.
func (s *Server) tick(ctx context.Context, j job) {
	if !j.each {
		mine, err := s.store.Operations.ClaimTick(ctx, j.name, j.every)
		if err != nil || !mine {
			if err != nil && ctx.Err() == nil {
				s.log.Log(ctx, away(err), "tick could not be claimed", "job", j.name, "error", err)
			}
			return
		}
	}
	if err := j.run(ctx); err != nil && ctx.Err() == nil {
		s.log.Log(ctx, away(err), "job failed", "job", j.name, "error", err)
	}
}

// away returns the level at which a failure is logged: unavailable storage is not a
// bug.
func away(err error) slog.Level {
	if arena.CodeOf(err) == arena.CodeUnavailable {
		return slog.LevelWarn
	}
	return slog.LevelError
}

// cronLogger hands panics of jobs to slog.
type cronLogger struct{ log *slog.Logger }

func (l cronLogger) Info(string, ...any) {}

func (l cronLogger) Error(err error, msg string, _ ...any) {
	l.log.Error("job panicked", "cause", msg, "error", err)
}
