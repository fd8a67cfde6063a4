// Package events is the command that tells what happened in a sandbox.
package events
