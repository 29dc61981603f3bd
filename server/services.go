package server

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	mrand "math/rand/v2"
	"time"

	"github.com/agora-arena/arena/account"
	"github.com/agora-arena/arena/api"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/health"
	"github.com/agora-arena/arena/internal/mail"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/internal/signin"
	"github.com/agora-arena/arena/internal/takeout"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/league"
	"github.com/agora-arena/arena/match"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/registry"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/outbox"
)

// services are the operations that the API and the inbound protocol handlers
// share.
type services struct {
	quotas   *quota.Set
	accounts *account.Service
	provider api.SignInProvider // nil: people sign in with tokens alone
	entries  *league.Entries
	agents   *registry.Service
	matches  *match.Service
	leagues  *league.Service
	archive  *takeout.Archive
}

// newQuotas makes the limits of callers.
func (s *Server) newQuotas() *quota.Set {
	counted := quota.Options{Limits: s.limits(), Now: s.now, Logger: s.log}
	if s.bus != nil {
		counted.Shared = s.bus.Take
	}
	quotas := quota.New(counted)
	s.metrics.watchQuotas(quotas.Refusals)
	return quotas
}

// limits are the limits of callers by the settings.
func (s *Server) limits() quota.Limits {
	l := quota.DefaultLimits()
	l.RequestsPerMinute, l.PagesPerMinute = s.cfg.RequestsPerAddress, s.cfg.PagesPerAddress
	l.BytesPerMinute = s.cfg.MiBPerAddress << 20
	l.JudgingPerHour = s.cfg.JudgeSecondsPerOwner
	if s.opts.NoLimits {
		l = quota.Limits{}
	}
	l.StreamsPerAddress = cmp.Or(s.opts.Spectators, s.cfg.SpectatorsPerAddress)
	return l
}

// newServices makes the health checks, the scheduler of leagues and the
// services.
func (s *Server) newServices(ctx context.Context, out *outbound, quotas *quota.Set, rescorer *engine.Rescorer) (_ *services, err error) {
	spread := s.cfg.HealthInterval * 3 / 4 // leaves time for slow answers and for storing what was found
	s.sweeper = health.New(health.Options{
		Store: s.store.Agents, Probers: s.protocols.probers(s.now), Recorder: s.pauses, CutOff: s.network.CutOff,
		Workers: s.cfg.HealthWorkers, Interval: s.cfg.HealthInterval, Spread: spread, Now: s.now, Logger: s.log, Rand: mrand.New(secretSource{}), //nolint:gosec // G404: its source is crypto/rand
	})
	v := &services{quotas: quotas}
	issuer, err := s.newOIDCVerifier()
	if err != nil {
		return nil, err
	}
	v.archive = takeout.New(s.store, s.url, s.now)
	provider, err := s.cfg.newProvider(s.url, s.log)
	if err != nil {
		return nil, err
	}
	if provider != nil {
		v.provider = provider
	}
	v.entries = league.NewEntries(s.store, v.quotas.Password, s.now)
	keySecret, err := s.secret(ctx, "first keys 1")
	if err != nil {
		return nil, err
	}
	v.agents = registry.New(registry.Options{
		Store: s.store, Pauses: s.pauses, Protocols: s.protocols.rules(), Endpoints: out.guard, Checker: s.sweeper, FullCheck: s.fullCheck, Rehearse: s.newStage().Play,
		Rehearsals: v.quotas.Rehearsal, Entries: v.entries, Checks: v.quotas.Check, HostChecks: v.quotas.CheckHost, AgentsPerOwner: s.limits().AgentsPerOwner, PublicURL: s.url, KeySecret: keySecret, Now: s.now, Logger: s.log,
	})
	seeds := s.opts.Seeds
	if seeds == nil {
		seeds = secretSource{}
	}
	v.matches = match.New(match.Options{
		Store: s.store, Engine: s.runner, Rescorer: rescorer, Publisher: s.hub, HasModel: s.cfg.JudgeURL != nil, GroupBy: s.cfg.GroupOwnersBy,
		Challenges: v.quotas.Challenge, Challenged: v.quotas.Challenged, Judging: v.quotas.Judging, Now: s.now, Rand: seeds, Logger: s.log,
	})
	var toOwners account.Mail
	if s.mailer != nil {
		toOwners = s.mailer
	}
	if v.accounts, err = account.New(account.Options{
		Mail: toOwners, Store: s.store, Agents: s.pauses, Texts: v.matches,
		Issuer: issuer, SignupMode: s.cfg.Signup, Now: s.now, Logger: s.log,
		Shared: s.cfg.sharedNetworks(),
		Quotas: account.Quotas{Address: v.quotas.Address, Known: v.quotas, Guess: v.quotas.Guess, SignUp: v.quotas.SignUp},
	}); err != nil {
		return nil, err
	}
	v.leagues = league.NewService(league.ServiceOptions{
		Store: s.store, Entries: v.entries, Games: s.games, HasModel: s.cfg.JudgeURL != nil, Document: api.LeagueDocument, Now: s.now,
		AuditsRated: s.cfg.AuditLeagues,
		Cheats: func(ctx context.Context, of arena.Settings, tasks []arena.Task) (arena.AuditReport, error) {
			return s.audited(ctx, of, tasks, nil)
		},
	})
	s.scheduler = league.NewScheduler(league.Options{
		Store: league.NewRows(s.store), Matches: v.matches, GroupBy: s.cfg.GroupOwnersBy, Now: s.now, Rand: secretSource{}, Logger: s.log,
		LadderPause: s.opts.LadderPause, EliminationPause: s.opts.EliminationPause,
	})
	return v, nil
}

// newOIDCVerifier returns the verifier for tokens of the operator's issuer, or nil
// if no issuer is set.
func (s *Server) newOIDCVerifier() (account.Issuer, error) {
	if s.cfg.OIDCIssuer == nil || s.cfg.OIDCAudience == "" {
		return nil, nil //nolint:nilnil // nil has a meaning to the service
	}
	client, err := protocol.NewOperatorClient(protocol.ClientOptions{})
	if err != nil {
		return nil, err
	}
	verifier := token.NewOIDCVerifier(token.OIDCOptions{
		Issuer: s.cfg.OIDCIssuer.String(), Audience: s.cfg.OIDCAudience,
		AdminClaim: s.cfg.OIDCAdminClaim, AdminValue: s.cfg.OIDCAdminValue, HTTP: client, Now: s.now, Logger: s.log,
	})
	return verifier, nil
}

// callbackPath is where the provider sends a browser back to.
const callbackPath = "/v1/signin/callback"

// newProvider makes the provider that people sign in with at an arena; nil when
// they sign in with tokens alone.
func (c Config) newProvider(arenaURL string, log *slog.Logger) (*signin.Provider, error) {
	if c.OIDCIssuer == nil || c.OIDCClientID == "" {
		return nil, nil //nolint:nilnil // nil has a meaning to the API
	}
	client, err := protocol.NewOperatorClient(protocol.ClientOptions{})
	if err != nil {
		return nil, err
	}
	issuer := c.OIDCIssuer.String()
	provider := signin.New(signin.Options{
		Issuer: issuer, ClientID: c.OIDCClientID, ClientSecret: c.OIDCClientSecret, RedirectURL: arenaURL + callbackPath,
		Person: func(claims ...json.RawMessage) (arena.Identity, error) {
			return token.PersonOf(issuer, c.OIDCAdminClaim, c.OIDCAdminValue, claims...)
		},
		HTTP: client, Now: time.Now, Logger: log,
	})
	return provider, nil
}

// ProviderName returns the name of the provider that people sign in with.
func (c Config) ProviderName() string {
	if c.OIDCIssuer == nil {
		return ""
	}
	return cmp.Or(c.OIDCName, c.OIDCIssuer.Host)
}

// newSMTP returns the client that delivers mails; nil if the arena sends none.
func (c Config) newSMTP() (*mail.SMTP, error) {
	if c.SMTP == nil {
		return nil, nil //nolint:nilnil // nil has a meaning to the callers
	}
	return mail.NewSMTP(mail.SMTPOptions{URL: c.SMTP, Password: c.SMTPPassword, From: c.MailFrom})
}

// mailRows are the rows that mails to owners need.
type mailRows struct {
	*outbox.Outbox
	*store.Agents
	*store.Accounts
}

// newMailer makes the queue of mails to owners, if the arena sends mail.
func (s *Server) newMailer() error {
	smtp, err := s.cfg.newSMTP()
	if err != nil || smtp == nil {
		return err
	}
	s.mailer = mail.New(mail.Options{
		Store: mailRows{s.store.Outbox, s.store.Agents, s.store.Accounts}, Sender: smtp, URL: s.url, Now: s.now, Logger: s.log,
	})
	return nil
}
