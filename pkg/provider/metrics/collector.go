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

// collector turns what its source says into metrics, at every scrape.
type collector struct {
	k8smetrics.BaseStableCollector
	source func() []VCenter
	states []state // made when the registry asks for descriptions
}

// state is one family of the collector. A vCenter that has no value yet is left out of it.
type state struct {
	desc  *k8smetrics.Desc
	kind  k8smetrics.ValueType
	value func(VCenter) (float64, bool)
}

func newStates() []state {
	gauge := func(name, help string, value func(VCenter) (float64, bool)) state {
		return state{desc: desc(name, help), kind: k8smetrics.GaugeValue, value: value}
	}
	return []state{
		gauge("vcenter_connected", "Whether there is a session at the vCenter that works (1) or not (0).",
			func(v VCenter) (float64, bool) { return number(v.Connected), true }),
		{
			desc:  desc("vcenter_reconnects_total", "Times there was a connection to the vCenter again after there had been none."),
			kind:  k8smetrics.CounterValue,
			value: func(v VCenter) (float64, bool) { return float64(v.Reconnects), true },
		},
		gauge("inventory_synced", "Whether the inventory of the vCenter is complete and current (1) or not (0).",
			func(v VCenter) (float64, bool) { return number(v.Synced), true }),
		gauge("inventory_vms", "VMs that the inventory of the vCenter holds.",
			func(v VCenter) (float64, bool) { return float64(v.VMs), true }),
		gauge("inventory_last_sync_timestamp_seconds", "When the inventory of the vCenter last became complete and current, Unix time.",
			func(v VCenter) (float64, bool) { return unix(v.SyncedAt) }),
		gauge("tags_last_read_timestamp_seconds", "When the tags of the vCenter were last read as a whole, Unix time.",
			func(v VCenter) (float64, bool) { return unix(v.TagsReadAt) }),
	}
}

func desc(name, help string) *k8smetrics.Desc {
	return k8smetrics.NewDesc(namespace+"_"+name, help, []string{"vcenter"}, nil, k8smetrics.ALPHA, "")
}

// DescribeWithStability implements [k8smetrics.StableCollector]. The registry calls it once, before anything else.
func (c *collector) DescribeWithStability(ch chan<- *k8smetrics.Desc) {
	c.states = newStates()
	for _, s := range c.states {
		ch <- s.desc
	}
}

// CollectWithStability implements [k8smetrics.StableCollector].
func (c *collector) CollectWithStability(ch chan<- k8smetrics.Metric) {
	seen := map[string]bool{}
	for _, vc := range c.source() {
		if seen[vc.Name] {
			continue // twice the same series would spoil the whole scrape
		}
		seen[vc.Name] = true
		for _, s := range c.states {
			if value, ok := s.value(vc); ok {
				ch <- k8smetrics.NewLazyConstMetric(s.desc, s.kind, value, vc.Name)
			}
		}
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func unix(t time.Time) (float64, bool) {
	return float64(t.UnixMilli()) / 1000, !t.IsZero()
}
