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

// namespace begins every name.
const namespace = "vsphere_ccm"

// Metrics counts. Make one with [New]. All methods may be called from any goroutine, on a nil Metrics too, where they do
// nothing.
type Metrics struct {
	calls         *k8smetrics.CounterVec
	durations     *k8smetrics.HistogramVec
	lookups       *k8smetrics.CounterVec
	confirmations *k8smetrics.CounterVec
	reloads       *k8smetrics.CounterVec

	methods Methods
}

// New registers at r. The source is asked at every scrape for the vCenters as they are then, each with another name; it
// is called from any goroutine and must not block.
func New(r Registry, source func() []VCenter) (*Metrics, error) {
	m := &Metrics{
		calls: counter("vcenter_calls_total",
			"Calls made to vCenters, by method and result (ok, error, timeout, unreachable, canceled).", "vcenter", "method", "result"),
		durations: k8smetrics.NewHistogramVec(&k8smetrics.HistogramOpts{
			Namespace: namespace,
			Name:      "vcenter_call_duration_seconds",
			Help:      "Time from a call to a vCenter to its answer. WaitForUpdatesEx is the long poll: it is long while nothing changes.",
			// From a call within a datacenter to a long poll of a minute and what a hung vCenter adds to it.
			Buckets:        []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 90},
			StabilityLevel: k8smetrics.ALPHA,
		}, []string{"vcenter", "method"}),
		lookups:       counter("lookups_total", "VMs looked up for nodes, by what they were looked up by and what came of it.", "source", "result"),
		confirmations: counter("confirmations_total", "Times the vCenters were asked whether a VM is gone, by what came of it.", "outcome"),
		reloads:       counter("config_reloads_total", "Changes of the configuration that were noticed, by what became of them.", "result"),
	}
	var errs []error
	for _, family := range []k8smetrics.Registerable{m.calls, m.durations, m.lookups, m.confirmations, m.reloads} {
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

// begin has every series of a fixed set there from the start, at zero: a rate needs a value before the first.
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

// Call counts a call to a vCenter: the method and result of a vcenter.Call.
func (m *Metrics) Call(vcenter, method, result string, d time.Duration) {
	if m == nil {
		return
	}
	method = m.methods.Label(method)
	m.calls.WithLabelValues(vcenter, method, result).Inc()
	m.durations.WithLabelValues(vcenter, method).Observe(d.Seconds())
}

// Lookup counts a VM that was looked up.
func (m *Metrics) Lookup(source Source, result Result) {
	if m != nil {
		m.lookups.WithLabelValues(bounded(source, sources()), bounded(result, results())).Inc()
	}
}

// Confirmation counts a question to all vCenters whether a VM is gone.
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

// Source is what a VM was looked up by.
type Source string

// The sources of [Metrics.Lookup], in the order in which they are tried.
const (
	ByProviderID Source = "provider_id"
	BySystemUUID Source = "system_uuid"
	ByHostName   Source = "hostname"
	ByAddress    Source = "address"
)

// Result is what came of a lookup.
type Result string

// The results of [Metrics.Lookup].
const (
	Found Result = "found"
	// NotFound: no vCenter knows such a VM.
	NotFound Result = "not_found"
	// Ambiguous: several VMs answer.
	Ambiguous Result = "ambiguous"
	// Unsure: it was not found, and not every vCenter could be asked.
	Unsure Result = "unsure"
)

// Outcome is what came of asking whether a VM is gone.
type Outcome string

// The outcomes of [Metrics.Confirmation].
const (
	Gone       Outcome = "gone"
	StillThere Outcome = "still_there"
	// Doubt: nothing may be concluded, and nothing is deleted.
	Doubt Outcome = "doubt"
)

// Reload is what became of a changed configuration.
type Reload string

// The results of [Metrics.Reload].
const (
	// Applied: it is in use.
	Applied Reload = "applied"
	// Refused: it is wrong, and the one before stays in use.
	Refused Reload = "refused"
	// NeedsRestart: it holds something that only a new process can take up.
	NeedsRestart Reload = "needs_restart"
)

func sources() []Source   { return []Source{ByProviderID, BySystemUUID, ByHostName, ByAddress} }
func results() []Result   { return []Result{Found, NotFound, Ambiguous, Unsure} }
func outcomes() []Outcome { return []Outcome{Gone, StillThere, Doubt} }
func reloads() []Reload   { return []Reload{Applied, Refused, NeedsRestart} }

// bounded is the value itself where it is one of those that there are.
func bounded[T ~string](value T, all []T) string {
	if slices.Contains(all, value) {
		return string(value)
	}
	return other
}

// Registry is where a [Metrics] registers: any of k8s.io/component-base/metrics.
type Registry interface {
	Register(k8smetrics.Registerable) error
	CustomRegister(k8smetrics.StableCollector) error
}

// Process is the registry of the process, which the controllers' own metrics are in, too. It takes one Metrics in the
// life of a process.
func Process() Registry { return process{} }

type process struct{}

func (process) Register(r k8smetrics.Registerable) error { return legacyregistry.Register(r) }

func (process) CustomRegister(c k8smetrics.StableCollector) error {
	return legacyregistry.CustomRegister(c)
}

// MaxMethods is how many methods of a vCenter's API are told apart; later ones are "other".
const MaxMethods = 64

// other stands for label values that are not to be told apart.
const other = "other"

// Methods bounds a label of methods. The zero value is ready to use, from any goroutine.
type Methods struct {
	mu    sync.Mutex
	known map[string]bool
}

// Label returns the method itself, for the first [MaxMethods].
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
