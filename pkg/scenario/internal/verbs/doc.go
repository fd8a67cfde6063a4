// Package verbs is the allow-list of commands that a scenario may run without being trusted: commands that only read the
// sandbox that the scenario runs on, with the flags that cannot make them do more.
//
// It is a list of what is known to be harmless, and not of what is known to be dangerous: a verb, a flag or a format that
// is not in it makes the command one that needs trust. [Beyond] then says why.
//
// Floor 4, in the tree of pkg/scenario.
package verbs
