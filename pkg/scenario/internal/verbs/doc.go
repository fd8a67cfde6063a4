// Package verbs is the allow-list of commands that need no trust: commands that only read the sandbox of the scenario, with flags
// that cannot make them do more.
//
// It lists what is known to be harmless, not what is known to be dangerous: any other verb, flag or format needs trust. [Effects]
// returns the reason.
//
// Floor 4, in the tree of pkg/scenario.
package verbs
