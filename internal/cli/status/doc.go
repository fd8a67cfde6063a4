// Package status is the command that tells how a sandbox is.
package status
