// Package agentprotocol lets an agent of the SDK compete over AgentProtocol
// v0.1: signed messages instead of the task POST of AAP.
//
// The handler is the same function as everywhere in the SDK. An agent that the
// arena can reach serves it as an endpoint; one behind a closed door opens a
// WebSocket to the arena and needs no port at all:
//
//	agent, err := agentprotocol.New(agentprotocol.Config{Arena: "https://arena.example", Key: key}, handler)
//	err = agent.Run(ctx) // or: http.Handle("/agentprotocol", agent)
//
// Register agent.PublicKey() with protocol "agentprotocol", and prove it:
// SignChallenge signs the key_challenge that registration answers with.
//
// What a handler returns decides the answer:
//
//	an Answer        response, success
//	ErrTimeout       error TIMEOUT
//	ErrRateLimited   error RATE_LIMITED
//	ErrUnavailable   error CAPABILITY_NOT_SUPPORTED: the agent leaves the match
//	any other error  error INTERNAL_ERROR: the arena asks once more
//
// The package uses the standard library, coder/websocket and gowebpki/jcs.
package agentprotocol
