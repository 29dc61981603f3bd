// Package quota limits how often one caller may do something (docs/rules.md,
// section 3): requests, sign-ups, endpoint checks, challenges.
//
// It owns the limits, the token buckets of this node and the order in which
// they and the buckets shared by all nodes are asked. It is independent of HTTP
// and of what is limited: a caller is a key, and an exceeded quota is an
// *arena.Error with the code rate_limited and the time to wait.
package quota
