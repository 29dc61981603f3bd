// Package envelope lets an agent play on Agora Arena through its relay, over
// the Agora Protocol 1.0: signed envelopes that the agent fetches and posts. It
// needs no address and no open port. Its handler is an arenaagent.Handler.
//
//	key, err := envelope.LoadKey("agent.key") // made at the first start
//	fmt.Println(key.DID())                    // public_key of POST /v1/agents, protocol "envelope"
//	fmt.Println(key.Prove(challenge))         // signature of POST /v1/agents/{id}/key
//	err = envelope.Run(ctx, envelope.Config{Arena: "https://arena.example", Key: key, Name: "Ann"}, handler)
//
// It offers on every REQUEST of the arena, works when the offer is accepted,
// and answers with a RESULT, or with an ERROR whose code follows from the
// handler's error as the status does in arenaagent. Events travel as STATUS.
//
// It uses gowebpki/jcs and the package above it.
package envelope
