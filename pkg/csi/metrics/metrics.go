package metrics

import (
	"errors"
	"fmt"
	"time"

	k8smetrics "k8s.io/component-base/metrics"

	providermetrics "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

const namespace = "vsphere_csi"

// Metrics are the driver's metrics. Create them with [New]. All methods are safe for concurrent use, and do nothing on a nil
// Metrics.
type Metrics struct {
	calls         *k8smetrics.HistogramVec
	operations    *k8smetrics.HistogramVec
	vcenterCalls  *k8smetrics.HistogramVec
	vcenterTotals *k8smetrics.CounterVec

	methods providermetrics.Methods
}

// New registers the metrics in r. Every scrape calls source for the current vCenters, which must have distinct names. source
// must be safe for concurrent use and must not block. It may be nil for no vCenters.
func New(r providermetrics.Registry, source func() []VCenter) (*Metrics, error) {
	m := &Metrics{
		calls: histogram("operations_seconds",
			"Duration of calls from sidecars and kubelet, by method and gRPC code.", "method_name", "grpc_status_code"),
		operations: histogram("volume_operations_seconds",
			"Duration of operations on volumes, by vCenter, operation and result.", "vcenter", "operation", "result"),
		vcenterCalls: histogram("vcenter_call_duration_seconds",
			"Duration of calls to a vCenter. WaitForUpdatesEx is the long poll, which takes long while nothing changes.", "vcenter", "method"),
		vcenterTotals: k8smetrics.NewCounterVec(&k8smetrics.CounterOpts{
			Namespace: namespace, Name: "vcenter_calls_total", StabilityLevel: k8smetrics.ALPHA,
			Help: "Calls made to vCenters, by method and result (ok, error, timeout, unreachable, canceled).",
		}, []string{"vcenter", "method", "result"}),
	}
	var errs []error
	for _, family := range []k8smetrics.Registerable{m.calls, m.operations, m.vcenterCalls, m.vcenterTotals} {
		errs = append(errs, r.Register(family))
	}
	if source != nil {
		errs = append(errs, r.CustomRegister(&providermetrics.Collector[VCenter]{
			Namespace: namespace, Source: source, Name: func(v VCenter) string { return v.Name }, States: states(),
		}))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return m, nil
}

func histogram(name, help string, labels ...string) *k8smetrics.HistogramVec {
	return k8smetrics.NewHistogramVec(&k8smetrics.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, StabilityLevel: k8smetrics.ALPHA,
		// From a call within a datacenter to an attach that takes a vCenter minutes.
		Buckets: []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300},
	}, labels)
}

// Call counts a call from a sidecar or kubelet, by the method's short name and its gRPC code.
func (m *Metrics) Call(method, code string, took time.Duration) {
	if m != nil {
		m.calls.WithLabelValues(method, code).Observe(took.Seconds())
	}
}

// Operation counts an operation on a volume, by vCenter (empty for several), operation and result.
func (m *Metrics) Operation(vcenter, operation, result string, took time.Duration) {
	if m != nil {
		m.operations.WithLabelValues(vcenter, operation, result).Observe(took.Seconds())
	}
}

// VCenterCall counts a call to a vCenter, with the method and result of a vcenter.Call.
func (m *Metrics) VCenterCall(vcenter, method, result string, took time.Duration) {
	if m == nil {
		return
	}
	method = m.methods.Label(method)
	m.vcenterTotals.WithLabelValues(vcenter, method, result).Inc()
	m.vcenterCalls.WithLabelValues(vcenter, method).Observe(took.Seconds())
}

// VCenter is the state of one vCenter.
type VCenter struct {
	// Name is its name in the configuration.
	Name string
	// Connected reports that there is a working session.
	Connected bool
	// Synced reports that the vCenter's VMs, hosts and datastores are known.
	Synced bool
}

// states are the families of a vCenter's state.
func states() []providermetrics.State[VCenter] {
	return []providermetrics.State[VCenter]{
		{
			Name: "vcenter_connected", Help: "Whether there is a working session at the vCenter (1) or not (0).",
			Value: func(v VCenter) (float64, bool) { return providermetrics.Number(v.Connected), true },
		},
		{
			Name: "vcenter_synced", Help: "Whether the VMs, hosts and datastores of the vCenter are known (1) or not (0).",
			Value: func(v VCenter) (float64, bool) { return providermetrics.Number(v.Synced), true },
		},
	}
}
