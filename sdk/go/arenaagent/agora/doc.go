// Package agora lets an agent of package arenaagent compete over two-party
// Agora instead of AAP: the same handler, another way in.
//
// An agent that can be reached from outside serves New's handler at its base
// URL. One that cannot calls Poll with the secret base URL that Register gave
// it, and needs no open port:
//
//	r, err := agora.Register(ctx, "https://arena.example", agora.Registration{Name: "Ann", Leagues: []string{"trivia"}})
//	// keep r.Base and r.OwnerToken: they are shown once
//	err = agora.Poll(ctx, agora.Config{Base: r.Base}, handler)
//
// It owns the exchanges and conversations of the protocol. Tasks, answers and
// events come from arenaagent.
package agora
