package agentprotocol

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// Peers stores the capabilities from hellos and the newest connection of each
// agent.
type Peers interface {
	Peer(ctx context.Context, agentID string) (arena.Peer, error)
	NamePeer(ctx context.Context, agentID, keyName string) error
	GreetPeer(ctx context.Context, agentID string, capabilities []string, at time.Time) error
	ConnectPeer(ctx context.Context, agentID, way string, at time.Time) (epoch int64, err error)
	SeePeer(ctx context.Context, agentID string, epoch int64, at time.Time) (newest bool, err error)
}

// Mailbox carries messages between nodes and records the ids of messages.
type Mailbox interface {
	Put(ctx context.Context, box, id string, body []byte, ttl time.Duration) error
	Next(ctx context.Context, box string, after int64, limit int) ([]arena.Mail, error)
	Look(ctx context.Context, box string, after int64, limit int) ([]arena.Mail, error)
	Once(ctx context.Context, scope, id string, digest [32]byte, ttl time.Duration) (first bool, err error)
}

// Options are the parts of a Driver. Actions and Folder are optional.
type Options struct {
	Key     ed25519.PrivateKey // of the arena, the same on every node
	Client  *protocol.Client
	Peers   Peers
	Mail    Mailbox
	Actions map[string]Action // by capability: the requests that agents may send, in addition to the protocol's own
	Folder  string            // directory for file exchange, "" none
	Logger  *slog.Logger
	Now     func() time.Time // with a monotonic reading
}

// timing holds the durations that the tests shorten.
type timing struct {
	hello time.Duration // for the first frame of a socket, and for the answer to a hello
	ping  time.Duration // between pings, and for a pong
	write time.Duration // for one frame
	poll  time.Duration // between reads of the folder
	keep  time.Duration // how long a file of the arena stays in the folder: longer than any task is open
	fresh time.Duration // how long a connection counts as open after its last heartbeat
	greet time.Duration // how long a hello is valid for matches
}

// core is shared by the driver and the inbound handler of one node: the
// arena's identity, the pending requests and the ways to an agent.
type core struct {
	o  Options
	me identity
	// actions are what the arena serves, by capability: what its hello lists.
	actions map[string]Action
	secret  [32]byte // of correlation ids
	timing  timing
	files   *folder // nil: no file exchange

	waitingMu sync.Mutex
	waiting   map[string][]chan arrival // by correlation id, or by helloOf an agent

	askedMu sync.Mutex
	asked   map[string][]time.Time // by agent: when hellos went out that it has not answered
}

func newCore(o Options) (*core, error) {
	c := &core{
		o: o, secret: correlationSecret(o.Key),
		timing: timing{
			hello: 5 * time.Second, ping: 10 * time.Second, write: 5 * time.Second, poll: time.Second,
			keep: arena.MaxAnswerTime + time.Minute, fresh: 30 * time.Second, greet: 2 * time.Minute,
		},
		waiting: map[string][]chan arrival{}, asked: map[string][]time.Time{},
	}
	c.me = identity{key: o.Key, public: o.Key.Public().(ed25519.PublicKey), now: o.Now}
	c.actions = map[string]Action{capabilityCore: c.about, capabilityTasks: tasks}
	maps.Copy(c.actions, o.Actions)
	c.me.capabilities = sortedNames(c.actions)
	if o.Folder != "" {
		files, err := openFolder(o.Folder)
		if err != nil {
			return nil, err
		}
		c.files = files
	}
	return c, nil
}

func (x *core) hello() helloPayload {
	return helloPayload{Version: Version, Features: []string{"signed-messages", "streaming"}, PublicKey: spkiOf(x.me.public)}
}

// errNotConnected means that an agent has no way in.
var errNotConnected = errors.New("the agent has no endpoint, no open WebSocket and no files")

// online reports whether a peer's newest connection still counts.
func (x *core) online(p arena.Peer) bool {
	fresh := x.timing.fresh
	if p.Way == wayFile {
		fresh = x.timing.greet
	}
	return !p.SeenAt.IsZero() && x.o.Now().Sub(p.SeenAt) < fresh
}

// deliver sends a message over the agent's newest connection.
func (x *core) deliver(ctx context.Context, agentID string, key ed25519.PublicKey, mailID string, data []byte, ttl time.Duration) error {
	p, err := x.o.Peers.Peer(ctx, agentID)
	switch {
	case err != nil && arena.CodeOf(err) != arena.CodeNotFound:
		return err
	case x.online(p) && p.Way == wayWebSocket:
		return x.o.Mail.Put(ctx, agentInbox(agentID), mailID, data, ttl)
	case x.online(p) && p.Way == wayFile && x.files != nil:
		if strings.HasPrefix(mailID, helloMail) {
			x.ask(agentID)
		}
		return x.files.write(x.me.public, key, strings.TrimPrefix(mailID, helloMail), x.o.Now(), data)
	}
	return errNotConnected
}

// ask records that the arena sends a hello to an agent.
func (x *core) ask(agentID string) {
	x.askedMu.Lock()
	defer x.askedMu.Unlock()
	x.asked[agentID] = append(x.unanswered(agentID), x.o.Now())
}

// wasAsked reports whether a hello of the agent answers one of the arena, and
// counts that one as answered. Such a hello gets no answer: two sides that
// answer every hello would never end.
func (x *core) wasAsked(agentID string) bool {
	x.askedMu.Lock()
	defer x.askedMu.Unlock()
	asked := x.unanswered(agentID)
	if len(asked) < 2 {
		delete(x.asked, agentID)
	} else {
		x.asked[agentID] = asked[1:]
	}
	return len(asked) > 0
}

// unanswered returns when the hellos went out that the agent may still answer.
// Call it with askedMu.
func (x *core) unanswered(agentID string) []time.Time {
	since := x.o.Now().Add(-x.timing.greet)
	return slices.DeleteFunc(x.asked[agentID], func(at time.Time) bool { return at.Before(since) })
}

// addressed checks that a message is for the arena, and of our time.
func (x *core) addressed(m message) *refusal {
	if !m.To.Broadcast && !names(m.To.AgentID, x.me.public) {
		return refuse(http.StatusForbidden, UnknownAgent, "the message is for another agent; the arena's id is "+rawID(x.me.public))
	}
	if age := x.o.Now().Sub(m.At); age > window || age < -window {
		return refuse(http.StatusBadRequest, InvalidMessage, "timestamp is more than 5 minutes from the arena's clock, "+
			x.o.Now().UTC().Format(arena.TimeFormat))
	}
	return nil
}
