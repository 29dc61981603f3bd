// Command arena-bench measures an arena on one machine beside bare baselines.
// The arena command runs it: `arena bench match` is `arena-bench match`.
//
// It owns the benchmarks, their load generators (crowds of spectators, honest and
// hostile agents, another node), which it starts as processes of its own, and
// their fixtures. It measures a node of package server in its own process.
package main
