// Package logs is the command that prints what the parts of a sandbox wrote to their logs. It reads the files, so that
// it works for a sandbox that crashed, too.
package logs
