// Package bus carries messages between the nodes of one arena, through
// Redis: live messages by topic, wake-ups, numbers of viewers, and rate
// limits that count over all nodes.
//
// It owns the connections to Redis, what happens when they break, and the
// decision between PUBLISH and SPUBLISH: on a cluster the channels are
// sharded. It leaves the meaning of messages to stream, and the truth to the
// database: nothing here is stored, and Redis may be flushed at any time.
//
// # Guarantees
//
// No caller waits for Redis. Publish and Wake put into a bounded queue; Take
// returns an error at once while Redis is unavailable.
//
// A message may be lost: the queue was full, a connection broke, Redis was
// restarted. It is never lost silently while both nodes live: the subscriber
// learns that its connection was lost (link false), and that it holds again
// and something may be missing (link true). A sender that could not deliver
// reports the same to each topic's subscribers as soon as it can. What a node
// took with it when it was killed, is lost: a caller that needs to be sure
// looks at the log from time to time.
//
// Messages of one node on one topic arrive in the order of sending and at most
// once. A node does not get its own.
//
// # Channels and keys
//
// All names begin with "arena:" and the database number of the URL, since
// Redis channels do not belong to databases: two arenas may share a server. On a
// cluster the number of one of 64 shards follows, in braces: a shard is one hash
// slot and one connection of each arena node, and the cluster spreads the slots
// over its own nodes.
//
// A client that may write to this Redis can show spectators false events, so it
// belongs in the arena's own network, with a password. Results cannot be
// changed through it.
package bus
