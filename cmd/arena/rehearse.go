package main

import (
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/rehearsal"
	"github.com/agora-arena/arena/league/pack"
	"github.com/agora-arena/arena/protocol/aap"
	"github.com/agora-arena/arena/scoring"
)

// rehearsalLimit leaves of the minute that a rehearsal may take what setting
// up the last connection may need.
const rehearsalLimit = 50 * time.Second

// newStage makes what plays rehearsals: with the driver of the matches, and
// with one whose tokens have expired.
func (s *server) newStage(driver *aap.Driver) (*rehearsal.Stage, error) {
	expired, err := aap.New(aap.Options{Client: s.client, Sign: s.signExpired, Now: time.Now})
	if err != nil {
		return nil, err
	}
	return rehearsal.New(rehearsal.Options{
		Drivers: map[string]rehearsal.Driver{"aap": driver}, Expired: map[string]rehearsal.Driver{"aap": expired},
		Generate: pack.Generate, Judge: scoring.Judge, Seed: secretSource{}.Uint64, Now: time.Now, Limit: rehearsalLimit,
	})
}

// signExpired makes a token of this arena whose time was over a minute ago.
func (s *server) signExpired(c arena.TaskClaims) (string, error) {
	c.ExpiresAt = time.Now().Add(-time.Minute)
	c.IssuedAt = c.ExpiresAt.Add(-time.Minute)
	return s.keys.Sign(c)
}
