package metrics

import (
	"time"

	k8smetrics "k8s.io/component-base/metrics"
)

// VCenter is the state of one vCenter.
type VCenter struct {
	Name string
	// Connected says that there is a session that works, Reconnects how often there was one again.
	Connected  bool
	Reconnects int
	// Synced says that the inventory is complete and current, SyncedAt when it last became so.
	Synced   bool
	SyncedAt time.Time
	// VMs is how many the inventory holds.
	VMs int
	// TagsReadAt is when the tags were last read as a whole.
	TagsReadAt time.Time
}

// states are the families that there are of a vCenter.
func states() []State[VCenter] {
	return []State[VCenter]{
		{
			Name: "vcenter_connected", Help: "Whether there is a session at the vCenter that works (1) or not (0).",
			Value: func(v VCenter) (float64, bool) { return Number(v.Connected), true },
		},
		{
			Name: "vcenter_reconnects_total", Help: "Times there was a connection to the vCenter again after there had been none.",
			Counter: true, Value: func(v VCenter) (float64, bool) { return float64(v.Reconnects), true },
		},
		{
			Name: "inventory_synced", Help: "Whether the inventory of the vCenter is complete and current (1) or not (0).",
			Value: func(v VCenter) (float64, bool) { return Number(v.Synced), true },
		},
		{
			Name: "inventory_vms", Help: "VMs that the inventory of the vCenter holds.",
			Value: func(v VCenter) (float64, bool) { return float64(v.VMs), true },
		},
		{
			Name: "inventory_last_sync_timestamp_seconds", Help: "When the inventory of the vCenter last became complete and current, Unix time.",
			Value: func(v VCenter) (float64, bool) { return unix(v.SyncedAt) },
		},
		{
			Name: "tags_last_read_timestamp_seconds", Help: "When the tags of the vCenter were last read as a whole, Unix time.",
			Value: func(v VCenter) (float64, bool) { return unix(v.TagsReadAt) },
		},
	}
}

// State is one family of a [Collector]. Value returns false for a vCenter that has no value yet: it is left out.
type State[V any] struct {
	Name, Help string
	Counter    bool
	Value      func(V) (float64, bool)

	desc *k8smetrics.Desc // made when the registry asks for descriptions
}

// Collector turns what its source says of vCenters into metrics, at every scrape.
type Collector[V any] struct {
	k8smetrics.BaseStableCollector
	// Namespace begins every name.
	Namespace string
	Source    func() []V
	// Name is the label of a vCenter.
	Name   func(V) string
	States []State[V]
}

// DescribeWithStability implements [k8smetrics.StableCollector]. The registry calls it once, before anything else.
func (c *Collector[V]) DescribeWithStability(ch chan<- *k8smetrics.Desc) {
	for i := range c.States {
		s := &c.States[i]
		s.desc = k8smetrics.NewDesc(c.Namespace+"_"+s.Name, s.Help, []string{"vcenter"}, nil, k8smetrics.ALPHA, "")
		ch <- s.desc
	}
}

// CollectWithStability implements [k8smetrics.StableCollector].
func (c *Collector[V]) CollectWithStability(ch chan<- k8smetrics.Metric) {
	seen := map[string]bool{}
	for _, vc := range c.Source() {
		name := c.Name(vc)
		if seen[name] {
			continue // twice the same series would spoil the whole scrape
		}
		seen[name] = true
		for _, s := range c.States {
			kind := k8smetrics.GaugeValue
			if s.Counter {
				kind = k8smetrics.CounterValue
			}
			if value, ok := s.Value(vc); ok {
				ch <- k8smetrics.NewLazyConstMetric(s.desc, kind, value, name)
			}
		}
	}
}

// Number is 1 for true.
func Number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func unix(t time.Time) (float64, bool) {
	return float64(t.UnixMilli()) / 1000, !t.IsZero()
}
