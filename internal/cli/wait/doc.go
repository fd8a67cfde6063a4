// Package wait is the command that waits for something to be so in a sandbox.
package wait
