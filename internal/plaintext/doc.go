// Package plaintext checks the short texts that owners and admins enter:
// names, titles, versions, descriptions (threats E3 and E4). It rejects
// characters that are invisible or change how the text around them is shown, and
// compares names. It also makes untrusted texts safe to print on a terminal.
//
// It is pure.
package plaintext
