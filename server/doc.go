// Package server is the composition root of a node: it turns settings into a
// running arena. New builds the parts in the order in which they need each
// other, Run serves until its context ends and then drains, Close releases
// everything.
//
// It owns the table of settings (defaults, file, environment, flags), the
// periodic jobs, the metrics and the listeners. Decisions about matches, agents
// and leagues belong to the packages that it connects; they declare the
// interfaces that they need. cmd/arena and cmd/arena-bench import it.
package server
