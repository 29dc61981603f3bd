// Package debate holds the order of a debate: two seats speak for and against
// a motion in turns, change sides at half time, and are judged once for each
// side.
//
// It owns who argues what in which round, the text in which a seat hears its
// opponent, and which words are judged together. Speeches of a turn are given
// at the same time, so nobody has the last word. It leaves asking to the
// runner and judging to arena/judge.
//
// The runner imports it. It imports the words.
package debate
