package server

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/agora-arena/arena/registry/rehearsal"
)

// rehearsalLimit leaves of the minute that a rehearsal may take what setting
// up the last connection may need.
const rehearsalLimit = 50 * time.Second

// How a trickling request goes out: a usual one of 1.5 KB takes half a second.
const (
	tricklePart  = 16 // bytes
	tricklePause = 5 * time.Millisecond
)

// newStage returns the player of rehearsals.
func (s *Server) newStage() *rehearsal.Stage {
	return rehearsal.New(rehearsal.Options{
		Protocols: s.protocols.rehearsed(), Seed: secretSource{}.Uint64, Now: s.now, Limit: rehearsalLimit,
	})
}

// secretSource is a random source that agents cannot predict: seeds of
// matches decide which tasks come.
type secretSource struct{}

func (secretSource) Uint64() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	return binary.LittleEndian.Uint64(b[:])
}
