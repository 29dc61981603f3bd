// Package agenttest is a pocket arena for the tests of an agent: it publishes
// keys, signs and posts tasks as Agora Arena does, and records the agent's
// events. It has no leagues, points or other agents.
//
//	arena := agenttest.New(t)
//	agent, _ := arenaagent.New(arenaagent.Config{Arena: arena.URL()}, handler)
//	defer agent.Close()
//	endpoint := arena.Serve(agent)
//	reply := arena.Ask(t.Context(), endpoint, agenttest.Task{Description: "2 + 2?"})
package agenttest
