// Package sandbox is one running sandbox: it boots simulated vCenters and a Kubernetes cluster whose nodes are their
// VMs, keeps the event log, answers the control API, and takes everything down again in reverse order. [Run] is its
// whole life; boot.go is the order of things.
//
// Everything that is more than building a topology speaks to the vCenters as any client does, so that a later ground
// with a real vCenter is the same code.
//
// Floor 3.
package sandbox
