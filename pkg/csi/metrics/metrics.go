package metrics

import (
	"errors"
	"fmt"
	"time"

	k8smetrics "k8s.io/component-base/metrics"

	providermetrics "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// namespace begins every name.
const namespace = "vsphere_csi"

// Metrics counts. Make one with [New]. All methods may be called from any goroutine, on a nil Metrics too, where they do
// nothing.
type Metrics struct {
	calls         *k8smetrics.HistogramVec
	operations    *k8smetrics.HistogramVec
	vcenterCalls  *k8smetrics.HistogramVec
	vcenterTotals *k8smetrics.CounterVec

	methods providermetrics.Methods
}

// New registers at r. The source is asked at every scrape for the vCenters as they are then, each with another name; it
// is called from any goroutine and must not block. Nil: there are none.
func New(r providermetrics.Registry, source func() []VCenter) (*Metrics, error) {
	m := &Metrics{
		calls: histogram("operations_seconds",
			"Time from a call of a sidecar or of kubelet to its answer, by method and gRPC code.", "method_name", "grpc_status_code"),
		operations: histogram("volume_operations_seconds",
			"Time from the beginning of an operation on a volume to its end, by vCenter, operation and result.", "vcenter", "operation", "result"),
		vcenterCalls: histogram("vcenter_call_duration_seconds",
			"Time from a call to a vCenter to its answer. WaitForUpdatesEx is the long poll: it is long while nothing changes.", "vcenter", "method"),
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
		// From a call within a datacenter to an attach that a vCenter takes minutes for.
		Buckets: []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300},
	}, labels)
}

// Call counts a call of a sidecar or of kubelet, by the method's short name and its gRPC code.
func (m *Metrics) Call(method, code string, took time.Duration) {
	if m != nil {
		m.calls.WithLabelValues(method, code).Observe(took.Seconds())
	}
}

// Operation counts an operation on a volume, by the vCenter, empty where it concerns several, what it is and what came of
// it.
func (m *Metrics) Operation(vcenter, operation, result string, took time.Duration) {
	if m != nil {
		m.operations.WithLabelValues(vcenter, operation, result).Observe(took.Seconds())
	}
}

// VCenterCall counts a call to a vCenter: the method and result of a vcenter.Call.
func (m *Metrics) VCenterCall(vcenter, method, result string, took time.Duration) {
	if m == nil {
		return
	}
	method = m.methods.Label(method)
	m.vcenterTotals.WithLabelValues(vcenter, method, result).Inc()
	m.vcenterCalls.WithLabelValues(vcenter, method).Observe(took.Seconds())
}
