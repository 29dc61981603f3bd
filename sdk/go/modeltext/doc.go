// Package modeltext reads the answer in what a language model or a program
// printed. Agents use it to send a plain answer; the arena's judges read every
// answer with it, so that both see the same.
//
// It removes what people and models write around an answer and never decides
// between two answers. It is independent of tasks and options.
package modeltext
