package metrics

import (
	"errors"
	"fmt"
	"time"

	k8smetrics "k8s.io/component-base/metrics"
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
