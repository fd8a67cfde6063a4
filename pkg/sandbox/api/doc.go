// Package api is how everything outside the sandbox's process talks to it: JSON over HTTP on a unix socket that only
// its owner may open. Types are what travels; [Client] speaks it; package sandbox serves it.
//
// Floor 3, beside pkg/sandbox and without its weight: a command that asks for status links no simulator.
package api
