// Package scoring turns answers into points, points into places and places
// into rating changes (docs/rules.md, section 6 and 7).
//
// It owns the pure judges with the limits of their settings and tasks, the order
// of seats, the rules for eliminating seats and ending matches, and the rating
// system "agora-elo-1". Package judge queries external judges,
// match/engine runs rounds, and store writes ratings.
//
// It also owns the statistics that do not affect ratings: refits with their
// tiers, calibration and anomalies. Package stats has the distributions.
//
// Everything here is a pure function: no clock, no randomness, no storage, and the
// same bits on every architecture, but for refits, which may differ in the last
// digit shown. Answers of the judge code run in worker processes
// (internal/script); scoring names the calls and compares the results.
package scoring
