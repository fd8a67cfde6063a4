// Package vcenterconfig is what commands about real vCenters have in common: the flags that say which vCenters, which of
// their VMs, and which of these may be written to; the way there; and the words for what can go wrong on it.
//
//	var real vcenterconfig.Flags
//	real.Bind(cmd)       // --vcenter-config, --folder, --tag, --vm, --pool, --datacenter
//	real.BindNodes(cmd)  // --nodes, --control-plane
//	real.BindWrites(cmd) // --allow-writes, --write-folder, --write-tag, --keep-writes
//	…
//	if real.IsSet() {
//		chosen, err := real.Complete(d.Getenv) // a *real.Options
//	}
//
// Nothing is asked of a vCenter before [Connect], and nothing is printed.
//
// Floor 5.
package vcenterconfig
