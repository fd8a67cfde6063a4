package controlplane

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// Names of the components.
const (
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	metricsServer     = "metrics-server"
	supervisor        = "supervisor"
)

// settings are a component's command-line flags. Flags are the components' stable and documented interface; their option
// structs are not.
type settings map[string]string

func (s settings) duration(flag string, d time.Duration) { s[flag] = d.String() }
func (s settings) seconds(flag string, d time.Duration)  { s[flag] = strconv.Itoa(int(d.Seconds())) }

// defaults are settings that a user may replace. All others the sandbox decides itself: addresses, certificates, accounts, and
// what its clients rely on.
var defaults = []string{
	"allow-privileged", "attach-detach-reconcile-sync-period", "concurrent-gc-syncs", "controller-start-interval",
	"default-not-ready-toleration-seconds", "default-unreachable-toleration-seconds", "enable-admission-plugins", "kube-api-burst",
	"kube-api-qps", "node-eviction-rate", "node-monitor-grace-period", "node-monitor-period", "node-startup-grace-period", "profiling",
	"pvclaimbinder-sync-period", "terminated-pod-gc-threshold",
}

// elsewhere are flags that have a flag of the sandbox.
var elsewhere = map[string]string{
	"feature-gates": "--feature-gates", "runtime-config": "--runtime-config", "audit-policy-file": "--audit-policy",
	"audit-log-path": "--audit", "config": "--scheduler-config", "admission-control-config-file": "--admission-config",
}

// setKnobs adds what the user sets for one component: its flags, and those that several components have.
func (s settings) setKnobs(component string, k contract.Knobs) error {
	args := map[string][]string{apiServer: k.APIServer, controllerManager: k.ControllerManager, scheduler: k.Scheduler}[component]
	var errs []error
	for _, arg := range args {
		name, value, found := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !found {
			value = "true"
		}
		if other := elsewhere[name]; other != "" {
			errs = append(errs, fmt.Errorf("%s: --%s: use %s of the sandbox", component, name, other))
			continue
		}
		if _, set := s[name]; set && !slices.Contains(defaults, name) {
			errs = append(errs, fmt.Errorf("%s: --%s: the sandbox sets it itself", component, name))
			continue
		}
		if name == "enable-admission-plugins" { // the node restriction stays
			value = s[name] + "," + value
		}
		s[name] = value
	}
	if len(k.FeatureGates) > 0 {
		var gates []string
		for _, name := range slices.Sorted(maps.Keys(k.FeatureGates)) {
			gates = append(gates, fmt.Sprintf("%s=%t", name, k.FeatureGates[name]))
		}
		s["feature-gates"] = strings.Join(gates, ",")
	}
	if component == apiServer {
		if len(k.RuntimeConfig) > 0 {
			s["runtime-config"] = strings.Join(k.RuntimeConfig, ",")
		}
		if k.AdmissionConfig != "" {
			s["admission-control-config-file"] = k.AdmissionConfig
		}
		if k.AuditPolicy != "" {
			s["audit-policy-file"] = k.AuditPolicy
		}
	}
	return errors.Join(errs...)
}

// meant is the hint at the nearest name, or "".
func meant(prefix, name string, names []string) string {
	if near := nearest.Of(name, names); near != "" {
		return " (did you mean " + prefix + near + "?)"
	}
	return ""
}

// apply parses the settings with the component's own flag sets, so that a flag that was removed in a release is an error
// and not ignored.
func (s settings) apply(component string, sets cliflag.NamedFlagSets) error {
	fs := pflag.NewFlagSet(component, pflag.ContinueOnError)
	for _, f := range sets.FlagSets {
		fs.AddFlagSet(f)
	}
	var errs []error
	for _, flag := range slices.Sorted(maps.Keys(s)) {
		if fs.Lookup(flag) == nil {
			var flags []string
			fs.VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
			errs = append(errs, fmt.Errorf("%s: --%s: there is no such flag%s", component, flag, meant("--", flag, flags)))
		} else if err := fs.Set(flag, s[flag]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", component, err))
		}
	}
	return errors.Join(errs...)
}
