package server

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

// How a trickling request goes out: a usual one of 1.5 KB takes half a second.
const (
	tricklePart  = 16 // bytes
	tricklePause = 5 * time.Millisecond
)

// newStage makes what plays rehearsals: with the driver of the matches,
// with one whose tokens have expired, and with one on a bad network.
func (s *Server) newStage(driver *aap.Driver) (*rehearsal.Stage, error) {
	expired, err := aap.New(aap.Options{Client: s.client, Sign: s.signExpired, Now: time.Now})
	if err != nil {
		return nil, err
	}
	s.crawler = s.client.Crawl(tricklePart, tricklePause)
	trickling, err := aap.New(aap.Options{Client: s.crawler, Sign: s.keys.Sign, Now: time.Now})
	if err != nil {
		return nil, err
	}
	return rehearsal.New(rehearsal.Options{
		Drivers: map[string]rehearsal.Driver{"aap": driver}, Expired: map[string]rehearsal.Driver{"aap": expired},
		Trickling: map[string]rehearsal.Driver{"aap": trickling}, Generate: pack.Generate, Judge: scoring.Judge, Seed: secretSource{}.Uint64, Now: time.Now, Limit: rehearsalLimit,
	})
}

// signExpired makes a token of this arena whose time was over a minute ago.
func (s *Server) signExpired(c arena.TaskClaims) (string, error) {
	c.ExpiresAt = time.Now().Add(-time.Minute)
	c.IssuedAt = c.ExpiresAt.Add(-time.Minute)
	return s.keys.Sign(c)
}
