// Package audit has the rules of a league's audit: which tasks give their answers
// away to a reader of their text alone, and how the results of cheats compare with
// chance. server plays the cheats.
//
// The tests are exact and one-sided. All of them together accuse an honest league
// with a probability of at most FamilyError (Bonferroni): one in which the right
// option of each task is drawn from its options with equal chances, and an open
// question is answered by luck in at most OpenChance.
package audit
