// Package judge asks the external judges: a panel of judge agents, the crowd, a
// language model, or the pool that runs answers of the judge code (docs/rules.md,
// section 6).
//
// It owns which pairs of answers are compared and in which order, what a judge
// receives, how its reply is read, who may not judge whom, and how comparisons
// become points. A panel and a model see each pair in both orders; a judge that
// changes its mind with the order says tie. It leaves the pure judges and the
// versions to scoring, the void of a round without a verdict to the runner, and
// wires, votes and rows to the parts that server hands in.
//
// Answers are data: they reach a judge as JSON strings of bounded length, and the
// judge's reply must be one of three words (threat F8).
package judge
