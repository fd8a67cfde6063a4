// Package fault is the commands that break things on purpose and put them right again.
package fault
