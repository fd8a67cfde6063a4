// Package events is the command that tells what happened in a sandbox, and the one that takes its recording along.
package events
