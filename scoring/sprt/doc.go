// Package sprt tests whether one player is stronger than another, with games
// played in pairs, until the results decide: the generalized sequential
// probability ratio test that chess engines are tested with.
//
// The observation is a pair of games with swapped seats. Its score is 0, ½, 1,
// 1½ or 2 points, so five numbers (a pentanomial) hold all results. Two games of
// a pair share an opening and are not independent, but pairs are, and their
// variance is estimated from the pairs themselves.
//
// The test compares two strengths, Elo0 and Elo1, on the logistic scale: s = 1 /
// (1 + 10^(−Elo/400)) is the mean score of a game. The log-likelihood ratio is
// that of the two distributions over the five scores which fit the observed pairs
// best, one among those with the mean s(Elo1) and one among those with s(Elo0).
// Both probabilities of an error are 5 %: the test ends when the ratio leaves
// ±ln 19 (Wald, "Sequential Tests of Statistical Hypotheses", 1945).
//
// Sources: Michel Van den Bergh, "A practical introduction to the GSPRT"
// (https://www.cantate.be/Fishtest/GSPRT_approximation.pdf) and
// https://www.cantate.be/Fishtest/support_MLE_multinomial.pdf, which the testing of
// Stockfish uses. The interval is the empirical likelihood interval of Owen, 1988.
//
// Everything here is a pure function.
package sprt
