package main

import (
	"flag"
	"maps"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// logger is what the flags for logging say: -v and the like, as in every component of Kubernetes.
type logger struct {
	gate   featuregate.MutableVersionedFeatureGate
	config *logsapi.LoggingConfiguration
	err    error
}

func logFlags(fs *flag.FlagSet) *logger {
	l := &logger{gate: featuregate.NewFeatureGate(), config: logsapi.NewLoggingConfiguration()}
	l.err = logsapi.AddFeatureGates(l.gate)
	logsapi.AddGoFlags(l.config, fs)
	return l
}

// apply can be done once in a process.
func (l *logger) apply() error {
	if l.err != nil {
		return l.err
	}
	logs.InitLogs()
	return logsapi.ValidateAndApply(l.config, l.gate)
}

// setGates sets the feature gates of the sidecars. Upstream's for a clean end is on unless it is turned off: without it the
// controllers' workers are not waited for.
func setGates(asked map[string]bool) error {
	gates := map[string]bool{"ReleaseLeaderElectionOnExit": true}
	maps.Copy(gates, asked)
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(gates)
}
