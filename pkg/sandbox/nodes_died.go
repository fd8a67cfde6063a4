package sandbox

// followDeaths kills the kubelets of VMs that die with their host, at once: the vCenter cannot tell of it. What runs on a
// host that is only out of sight runs on. Of hosts behind a real vCenter nobody tells.
func (n *nodes) followDeaths() {
	for _, vc := range n.s.vcenters {
		if vc.Sim == nil {
			continue
		}
		vc.Sim.OnDied(func(vm ref, _ uint64) { n.died(vmKey{vc.Name(), vm}) })
	}
}

func (n *nodes) died(key vmKey) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.vms[key]; m != nil && m.node != nil {
		m.node.Die()
	}
}
