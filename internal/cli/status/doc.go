// Package status is the command that shows the state of a sandbox.
package status
