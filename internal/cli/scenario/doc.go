// Package scenario is the command that lists scenarios, checks them, runs them and records them.
//
// It chooses scenarios, boots sandboxes for them in this process, and hands what came of them to the reports. What a
// scenario is and how it is judged is package pkg/scenario's.
package scenario
