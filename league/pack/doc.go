// Package pack holds where tasks come from: packs, files of tasks in one of
// five formats, and generators, which make tasks from a seed.
//
// It owns the formats (jsonl, csv, opentriviaqa, opentdb, gsm8k), what a task
// must be to be usable, the limits of a pack (threat A6), the generators
// (arithmetic, dates, units, word_problems), and which judge their tasks are
// for. Everything in it is pure: the same bytes give the same tasks, the same
// seed and round give the same task, on every machine.
//
// It leaves to scoring whether a judge can judge a task, to league which task
// of a pack a match is given, and storage to store. It imports arena, scoring and arena/strictjson; league and arena/server
// import it.
package pack
