package sandbox

// followDeaths kills the kubelets of VMs that die with their host, at once: the vCenter cannot tell of it. What runs on a
// host that is only disconnected keeps running.
func (n *nodes) followDeaths() {
	for _, vc := range n.s.vcenters {
		vc.OnDied(func(vm ref, _ uint64) { n.died(vmKey{vc.Name(), vm}) })
	}
}

func (n *nodes) died(key vmKey) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.vms[key]; m != nil && m.node != nil {
		m.node.Die()
	}
}
