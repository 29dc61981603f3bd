// Package pack implements the sources of tasks: packs, which are files of tasks,
// and generators, which create tasks from a seed.
//
// It owns:
//
//   - the formats (jsonl, csv, opentriviaqa, opentdb, gsm8k, mmlu, arc, aqua,
//     bigbench) and the detection of a file's format by its content;
//   - mappings of columns for files in other formats;
//   - the checks of a task and the limits of a pack (threat A6);
//   - the generators (arithmetic, dates, units, word_problems) and the judges of
//     their tasks.
//
// All of it is pure: the same bytes, or the same seed and round, result in the
// same tasks on every machine.
//
// Package scoring decides whether a judge can judge a task. Package league selects
// the tasks of a match, and store keeps them.
package pack
