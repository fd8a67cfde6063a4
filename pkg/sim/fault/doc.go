// Package fault is how a sandbox is broken on purpose: what can be broken ([Kind]), what was ([Lease]), and how it is put
// right again.
//
// A fault is a lease. [Engine.Inject] plans it, which touches nothing and tells what is in the way; writes down for each
// target what was before; only then changes something. [Engine.Heal] puts back what was written down, as often as it is
// called. Leases end by themselves after their time, and all of them with the engine.
//
// The kinds are in packages below, a small file for each: vm, guest, identity, host, storage, tag, api (the vCenters'
// API, through their gates) and kube (the cluster's side); package catalogue lists them all. A kind knows how to plan,
// apply and revert one target. It is handed a [Ground], speaks the vSphere and the Kubernetes API where these can do
// what it is about, and says what else it needs ([Need]), so that it can be refused on a ground that lacks it.
//
// Floor 2, above the rest of pkg/sim.
package fault
