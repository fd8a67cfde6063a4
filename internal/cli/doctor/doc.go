// Package doctor is the command that tells whether this machine can run sandboxes, and clears away what dead ones left.
package doctor
