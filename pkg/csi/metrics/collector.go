package metrics

import (
	k8smetrics "k8s.io/component-base/metrics"
)

// VCenter is the state of one vCenter.
type VCenter struct {
	// Name is its name in the configuration.
	Name string
	// Connected says that there is a session that works.
	Connected bool
	// Synced says that it is known which VMs, hosts and datastores there are.
	Synced bool
}

// collector turns what its source says into metrics, at every scrape.
type collector struct {
	k8smetrics.BaseStableCollector
	source            func() []VCenter
	connected, synced *k8smetrics.Desc // made when the registry asks for descriptions
}

func (c *collector) DescribeWithStability(ch chan<- *k8smetrics.Desc) {
	desc := func(name, help string) *k8smetrics.Desc {
		return k8smetrics.NewDesc(namespace+"_"+name, help, []string{"vcenter"}, nil, k8smetrics.ALPHA, "")
	}
	c.connected = desc("vcenter_connected", "Whether there is a session at the vCenter that works (1) or not (0).")
	c.synced = desc("vcenter_synced", "Whether it is known which VMs, hosts and datastores the vCenter has (1) or not (0).")
	ch <- c.connected
	ch <- c.synced
}

func (c *collector) CollectWithStability(ch chan<- k8smetrics.Metric) {
	seen := map[string]bool{} // the registry fails as a whole when a series is there twice
	for _, v := range c.source() {
		if seen[v.Name] {
			continue
		}
		seen[v.Name] = true
		ch <- k8smetrics.NewLazyConstMetric(c.connected, k8smetrics.GaugeValue, number(v.Connected), v.Name)
		ch <- k8smetrics.NewLazyConstMetric(c.synced, k8smetrics.GaugeValue, number(v.Synced), v.Name)
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
