package contract

import "reflect"

// Knobs are what a user changes of the cluster's components. The zero value changes nothing. The Kubernetes program refuses
// what it does not have, and what the sandbox decides itself: ask [CheckCommand] before a boot.
type Knobs struct {
	// APIServer, ControllerManager and Scheduler are command-line flags of the components: NAME=VALUE, without dashes.
	APIServer         []string `json:"apiServer,omitempty"`
	ControllerManager []string `json:"controllerManager,omitempty"`
	Scheduler         []string `json:"scheduler,omitempty"`
	// FeatureGates are those of all components, the kubelets included.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// RuntimeConfig enables and disables APIs: GROUP/VERSION=BOOL, api/all=BOOL and so on.
	RuntimeConfig []string `json:"runtimeConfig,omitempty"`
	// AuditPolicy, SchedulerConfig and AdmissionConfig are absolute paths of files; empty for none.
	AuditPolicy     string `json:"auditPolicy,omitempty"`
	SchedulerConfig string `json:"schedulerConfig,omitempty"`
	AdmissionConfig string `json:"admissionConfig,omitempty"`
}

// IsZero reports whether the knobs change nothing.
func (k Knobs) IsZero() bool { return reflect.DeepEqual(k, Knobs{}) }

// ReadKnobs reads the file that [Knobs.Write] wrote. One of another contract is an [OtherVersionError].
func ReadKnobs(path string) (Knobs, error) { return read[Knobs](path) }

// Write stores the knobs, readable by their owner only.
func (k Knobs) Write(path string) error { return write(path, k) }
