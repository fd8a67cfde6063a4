// Package sandbox is one running sandbox: vCenters, a Kubernetes cluster whose Nodes are their VMs, an event log and a control
// API. [New] makes it, [Sandbox.Run] boots it and stops it in reverse order.
//
// Its parts are the packages below it. Each has its own state and lock, and fields for what it needs of other parts; parts.go
// connects them. boot.go has the order of the boot.
//
// A part connects to a vCenter as any client does, so that it works with real vCenters, too.
//
// Floor 3.
package sandbox
