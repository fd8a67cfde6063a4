// Package sandbox is one running sandbox: it boots simulated vCenters and a Kubernetes cluster whose nodes are their
// VMs, keeps the event log, answers the control API, and takes everything down again in reverse order. [Run] is its
// whole life; boot.go is the order of things. Its parts are the packages below it: each has its own state, and knows of the
// sandbox what its fields say.
//
// Everything that is more than building a topology speaks to the vCenters as any client does, so that a later ground
// with a real vCenter is the same code.
//
// Floor 3.
package sandbox
