// Package game holds the games that matches are played in. A Game is a
// deterministic fold over the rounds of a match: from the task of a round it
// makes the prompts of the seats, and from their replies the points of the
// round and the state in which the next one opens.
//
// It owns the interface and its implementations: quizzes, elimination and
// debates. It has no clock, no I/O and no randomness but the match's seed, so
// the engine, a take-over and a re-score get the same results from the same
// rounds. The engine draws the task, sends the prompts, collects the replies
// and calls external judges. Verify plays the games of a record again.
package game
