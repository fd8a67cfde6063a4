package metrics

import (
	k8smetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

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
