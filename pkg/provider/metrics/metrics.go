package metrics

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	k8smetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

const namespace = "vsphere_ccm"

// Metrics are the provider's metrics. Create them with [New]. All methods are safe for concurrent use, and do nothing on a
// nil Metrics.
type Metrics struct {
	calls         *k8smetrics.CounterVec
	durations     *k8smetrics.HistogramVec
	nsxCalls      *k8smetrics.CounterVec
	nsxDurations  *k8smetrics.HistogramVec
	lookups       *k8smetrics.CounterVec
	confirmations *k8smetrics.CounterVec
	reloads       *k8smetrics.CounterVec

	methods, nsxMethods Methods
}

// New registers the metrics in r. Every scrape calls source for the current vCenters, which must have distinct names. source
// must be safe for concurrent use and must not block.
func New(r Registry, source func() []VCenter) (*Metrics, error) {
	m := &Metrics{
		calls: counter("vcenter_calls_total",
			"Calls made to vCenters, by method and result (ok, error, timeout, unreachable, canceled).", "vcenter", "method", "result"),
		durations: k8smetrics.NewHistogramVec(&k8smetrics.HistogramOpts{
			Namespace: namespace,
			Name:      "vcenter_call_duration_seconds",
			Help:      "Duration of calls to a vCenter. WaitForUpdatesEx is the long poll, which takes long while nothing changes.",
			// From a call within a datacenter to a long poll of a minute plus the timeout of a hung vCenter.
			Buckets:        []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 90},
			StabilityLevel: k8smetrics.ALPHA,
		}, []string{"vcenter", "method"}),
		nsxCalls: counter("nsx_calls_total",
			"Calls made to NSX Managers, by method and result (ok, error, timeout, unreachable, canceled).", "nsx", "method", "result"),
		nsxDurations: k8smetrics.NewHistogramVec(&k8smetrics.HistogramOpts{
			Namespace: namespace, Name: "nsx_call_duration_seconds", Help: "Duration of calls to an NSX Manager.",
			Buckets:        []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
			StabilityLevel: k8smetrics.ALPHA,
		}, []string{"nsx", "method"}),
		lookups:       counter("lookups_total", "Lookups of VMs for nodes, by source (provider_id, system_uuid, hostname, address) and result.", "source", "result"),
		confirmations: counter("confirmations_total", "Queries of all vCenters whether a VM is gone, by outcome (gone, still_there, doubt).", "outcome"),
		reloads:       counter("config_reloads_total", "Changes of the configuration, by result (applied, refused, needs_restart).", "result"),
	}
	var errs []error
	for _, family := range []k8smetrics.Registerable{m.calls, m.durations, m.nsxCalls, m.nsxDurations, m.lookups, m.confirmations, m.reloads} {
		errs = append(errs, r.Register(family))
	}
	errs = append(errs, r.CustomRegister(&Collector[VCenter]{
		Namespace: namespace, Source: source, Name: func(v VCenter) string { return v.Name }, States: states(),
	}))
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	m.begin()
	return m, nil
}

func counter(name, help string, labels ...string) *k8smetrics.CounterVec {
	return k8smetrics.NewCounterVec(&k8smetrics.CounterOpts{
		Namespace: namespace, Name: name, Help: help, StabilityLevel: k8smetrics.ALPHA,
	}, labels)
}

// begin creates every series of a fixed set at zero: a rate needs a value before the first event.
func (m *Metrics) begin() {
	for _, source := range sources() {
		for _, result := range results() {
			m.lookups.WithLabelValues(string(source), string(result))
		}
	}
	for _, outcome := range outcomes() {
		m.confirmations.WithLabelValues(string(outcome))
	}
	for _, result := range reloads() {
		m.reloads.WithLabelValues(string(result))
	}
}

// Call counts a call to a vCenter, with the method and result of a vcenter.Call.
func (m *Metrics) Call(vcenter, method, result string, d time.Duration) {
	if m == nil {
		return
	}
	method = m.methods.Label(method)
	m.calls.WithLabelValues(vcenter, method, result).Inc()
	m.durations.WithLabelValues(vcenter, method).Observe(d.Seconds())
}

// NSXCall counts a call to an NSX Manager, with the method and result of an nsx.Call.
func (m *Metrics) NSXCall(manager, method, result string, d time.Duration) {
	if m == nil {
		return
	}
	method = m.nsxMethods.Label(method)
	m.nsxCalls.WithLabelValues(manager, method, result).Inc()
	m.nsxDurations.WithLabelValues(manager, method).Observe(d.Seconds())
}

// Lookup counts a lookup of a VM.
func (m *Metrics) Lookup(source Source, result Result) {
	if m != nil {
		m.lookups.WithLabelValues(bounded(source, sources()), bounded(result, results())).Inc()
	}
}

// Confirmation counts a query of all vCenters whether a VM is gone.
func (m *Metrics) Confirmation(outcome Outcome) {
	if m != nil {
		m.confirmations.WithLabelValues(bounded(outcome, outcomes())).Inc()
	}
}

// Reload counts a change of the configuration.
func (m *Metrics) Reload(result Reload) {
	if m != nil {
		m.reloads.WithLabelValues(bounded(result, reloads())).Inc()
	}
}

// VCenter is the state of one vCenter.
type VCenter struct {
	Name string
	// Connected reports that there is a working session; Reconnects counts how often it was established again.
	Connected  bool
	Reconnects int
	// Synced reports that the inventory is complete and current; SyncedAt is when it last became so.
	Synced   bool
	SyncedAt time.Time
	// VMs is the number of VMs in the inventory.
	VMs int
	// TagsReadAt is when the tags were last read completely.
	TagsReadAt time.Time
	// NamesMissing is the number of configured datacenters, tag categories and networks that it does not have, if NamesKnown.
	NamesMissing int
	NamesKnown   bool
}

// states are the families of a vCenter's state.
func states() []State[VCenter] {
	return []State[VCenter]{
		{
			Name: "vcenter_connected", Help: "Whether there is a working session at the vCenter (1) or not (0).",
			Value: func(v VCenter) (float64, bool) { return Number(v.Connected), true },
		},
		{
			Name: "vcenter_reconnects_total", Help: "Times the connection to the vCenter was established again.",
			Counter: true, Value: func(v VCenter) (float64, bool) { return float64(v.Reconnects), true },
		},
		{
			Name: "inventory_synced", Help: "Whether the inventory of the vCenter is complete and current (1) or not (0).",
			Value: func(v VCenter) (float64, bool) { return Number(v.Synced), true },
		},
		{
			Name: "inventory_vms", Help: "VMs in the inventory of the vCenter.",
			Value: func(v VCenter) (float64, bool) { return float64(v.VMs), true },
		},
		{
			Name: "inventory_last_sync_timestamp_seconds", Help: "When the inventory of the vCenter last became complete and current, Unix time.",
			Value: func(v VCenter) (float64, bool) { return unix(v.SyncedAt) },
		},
		{
			Name: "tags_last_read_timestamp_seconds", Help: "When the tags of the vCenter were last read completely, Unix time.",
			Value: func(v VCenter) (float64, bool) { return unix(v.TagsReadAt) },
		},
		{
			Name: "configured_names_missing", Help: "Configured datacenters, tag categories and VM networks that the vCenter does not have.",
			Value: func(v VCenter) (float64, bool) { return float64(v.NamesMissing), v.NamesKnown },
		},
	}
}

// State is one family of a [Collector]. Value returns false for a vCenter without a value, which is omitted.
type State[V any] struct {
	Name, Help string
	Counter    bool
	Value      func(V) (float64, bool)

	desc *k8smetrics.Desc // made when the registry asks for descriptions
}

// Collector converts the vCenters of its source to metrics at every scrape.
type Collector[V any] struct {
	k8smetrics.BaseStableCollector
	// Namespace is the prefix of every name.
	Namespace string
	Source    func() []V
	// Name returns the label value of a vCenter.
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
			continue // a duplicate series would fail the whole scrape
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

// Number returns 1 for true.
func Number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func unix(t time.Time) (float64, bool) {
	return float64(t.UnixMilli()) / 1000, !t.IsZero()
}

// Source is the key of a lookup.
type Source string

// The sources of [Metrics.Lookup], in the order of use.
const (
	ByProviderID Source = "provider_id"
	BySystemUUID Source = "system_uuid"
	ByHostName   Source = "hostname"
	ByAddress    Source = "address"
)

// Result is the outcome of a lookup.
type Result string

// The results of [Metrics.Lookup].
const (
	Found Result = "found"
	// NotFound: no vCenter has such a VM.
	NotFound Result = "not_found"
	// Ambiguous: several VMs match.
	Ambiguous Result = "ambiguous"
	// Unsure: not found, but not every vCenter could be queried.
	Unsure Result = "unsure"
)

// Outcome is the outcome of a query whether a VM is gone.
type Outcome string

// The outcomes of [Metrics.Confirmation].
const (
	Gone       Outcome = "gone"
	StillThere Outcome = "still_there"
	// Doubt: unknown, so that nothing is deleted.
	Doubt Outcome = "doubt"
)

// Reload is the outcome of a changed configuration.
type Reload string

// The results of [Metrics.Reload].
const (
	// Applied: the change is in force.
	Applied Reload = "applied"
	// Refused: the configuration is invalid, and the previous one stays in force.
	Refused Reload = "refused"
	// NeedsRestart: a part of it takes effect only in a new process.
	NeedsRestart Reload = "needs_restart"
)

func sources() []Source   { return []Source{ByProviderID, BySystemUUID, ByHostName, ByAddress} }
func results() []Result   { return []Result{Found, NotFound, Ambiguous, Unsure} }
func outcomes() []Outcome { return []Outcome{Gone, StillThere, Doubt} }
func reloads() []Reload   { return []Reload{Applied, Refused, NeedsRestart} }

// bounded returns value if it is one of all, else other.
func bounded[T ~string](value T, all []T) string {
	if slices.Contains(all, value) {
		return string(value)
	}
	return other
}

// Registry is the part of a k8s.io/component-base/metrics registry that [New] uses.
type Registry interface {
	Register(k8smetrics.Registerable) error
	CustomRegister(k8smetrics.StableCollector) error
}

// Process returns the registry of the process, which also has the controllers' own metrics. It accepts one Metrics per
// process.
func Process() Registry { return process{} }

type process struct{}

func (process) Register(r k8smetrics.Registerable) error { return legacyregistry.Register(r) }

func (process) CustomRegister(c k8smetrics.StableCollector) error {
	return legacyregistry.CustomRegister(c)
}

// MaxMethods is how many methods of a vCenter's API have separate label values; later ones are "other".
const MaxMethods = 64

const other = "other"

// Methods bounds the label values of methods. The zero value is ready to use, and safe for concurrent use.
type Methods struct {
	mu    sync.Mutex
	known map[string]bool
}

// Label returns the label value of a method: the method itself for the first [MaxMethods].
func (m *Methods) Label(method string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[method] {
		return method
	}
	if len(m.known) >= MaxMethods {
		return other
	}
	if m.known == nil {
		m.known = map[string]bool{}
	}
	m.known[method] = true
	return method
}
