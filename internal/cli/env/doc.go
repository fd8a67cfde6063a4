// Package env is the command that prints what makes a shell's own kubectl and govc work with a sandbox.
package env
