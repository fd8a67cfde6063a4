// Package events is the command that shows what happened in a sandbox, and the one that exports its recording.
package events
