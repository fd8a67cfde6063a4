// Package vm is the commands that do something to virtual machines.
package vm
