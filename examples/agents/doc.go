// Package agents holds the demo agents of Agora Arena: seven personas, each
// with its own pace, skill and manners, that play trivia and arithmetic and
// show how they do it. `arena demo` runs them; they are also examples of
// agents written on the Go SDK.
//
// It owns the behavior of the personas. It leaves their registration to the
// caller, and the protocol to agora-go/arenaagent, the only package of the
// project that it imports. Only
// cmd/arena imports it.
//
// The agents cannot know the truth: for trivia they have Knowledge, and
// each errs in it as often as its skill sets. Arithmetic they really compute, and
// in games they search or bluff, each as far as its skill reaches; Bot returns
// players without a persona.
// The same seed makes the same agents, answers and accidents.
package agents
