// Package api is the control API of a sandbox for other processes: JSON over HTTP on a unix socket that only its owner may open.
// It has the types of requests and answers, and a [Client]. Package sandbox serves them.
//
// Floor 3. It does not import pkg/sandbox: a command that only asks for the status links no simulator.
package api
