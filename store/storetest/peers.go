package storetest

import (
	"time"

	"github.com/agora-arena/arena/arena"
)

// peers: what a hello said, and which connection is the newest.
func peers(f *fixture) {
	ctx := f.t.Context()
	ant := f.agent("ant", func(a *arena.Agent) {
		a.Protocol, a.PublicKey, a.KeyProvedAt = arena.ProtocolAgentProtocol, "key of ant", start
	})
	f.agent("bee")
	_, err := f.Peer(ctx, ant.ID)
	f.fails(arena.CodeNotFound, err)
	_, err = f.AgentByKeyName(ctx, "name")
	f.fails(arena.CodeNotFound, err)

	f.ok(f.NamePeer(ctx, ant.ID, "name"))
	f.ok(f.NamePeer(ctx, "ag_bee", "name")) // whose key nobody proved
	f.equal(ant, must(f.AgentByKeyName(ctx, "name"))(f))
	f.ok(f.GreetPeer(ctx, ant.ID, []string{"arena:round", "\x00"}, start))
	f.equal(int64(1), must(f.ConnectPeer(ctx, ant.ID, "websocket", start))(f))
	f.equal(int64(2), must(f.ConnectPeer(ctx, ant.ID, "file", start.Add(time.Second)))(f))
	f.equal(false, must(f.SeePeer(ctx, ant.ID, 1, start.Add(time.Minute)))(f))
	want := arena.Peer{
		AgentID: ant.ID, KeyName: "name", Capabilities: []string{"arena:round", "\x00"}, HelloAt: start,
		Way: "file", Epoch: 2, SeenAt: start.Add(time.Second),
	}
	f.equal(want, must(f.Peer(ctx, ant.ID))(f))
	f.equal(true, must(f.SeePeer(ctx, ant.ID, 2, time.Time{}))(f))
	want.SeenAt = time.Time{}
	f.equal(want, must(f.Peer(ctx, ant.ID))(f))

	_, _, err = f.UpdateAgent(ctx, ant.ID, func(a *arena.Agent) error { a.RetiredAt = start; return nil })
	f.ok(err)
	_, err = f.AgentByKeyName(ctx, "name")
	f.fails(arena.CodeNotFound, err)
	f.fails(arena.CodeNotFound, f.NamePeer(ctx, "ag_none", "x"))
}
