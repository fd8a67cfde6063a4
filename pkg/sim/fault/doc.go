// Package fault injects faults into a sandbox and heals them: what can break ([Kind]), what was broken ([Lease]), and how it is
// restored.
//
// A fault is a lease. [Engine.Inject] plans it, which touches nothing and reports what prevents it; records the previous state of
// each target; and only then changes something. [Engine.Heal] restores the recorded state, however often it is called. Leases end
// automatically after their duration, and all of them end with the engine.
//
// The kinds are in the packages below, one small file each: vm, guest, identity, host, storage, tag, api (the vCenters' API,
// through their gates, and that of the NSX Manager) and kube (the cluster's side); package catalogue lists them all. A kind plans, applies and reverts one
// target. It gets a [Ground], uses the vSphere and Kubernetes APIs where they suffice, and declares what else it needs ([Need]),
// so that a ground that lacks it refuses the kind.
//
// Floor 2, above the rest of pkg/sim.
package fault
