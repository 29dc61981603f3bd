// Package pack holds where tasks come from: packs, which are files of tasks,
// and generators, which make tasks from a seed.
//
// It owns the formats (jsonl, csv, opentriviaqa, opentdb, gsm8k, mmlu, arc,
// aqua, bigbench), the guess of a file's format by its content, mappings of
// columns for files of other forms, what a task must be to be usable, the
// limits of a pack (threat A6), the generators (arithmetic, dates, units,
// word_problems), and which judge their tasks are for. Everything in it is
// pure: the same bytes give the same tasks, the same seed and round give the
// same task, on every machine.
//
// It leaves to scoring whether a judge can judge a task, to league which task
// of a pack a match is given, storage to store, and Parquet to cmd/arena. It
// imports arena, scoring and arena/strictjson; league, arena/server and
// cmd/arena import it.
package pack
