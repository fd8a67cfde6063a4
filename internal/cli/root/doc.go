// Package root is the command above all others: it groups them, and turns how one ends into what its user sees and the
// exit status. Which commands there are is not its business.
package root
