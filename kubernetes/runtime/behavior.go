package runtime

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// BehaviorKey is the pod annotation that says what the pod's containers do, as YAML. The same key with a dot and a container's
// name is for that container alone, and counts before it.
const BehaviorKey = "sandbox.vsphere/behavior"

// behavior is what an annotation says. The zero value says nothing.
type behavior struct {
	declared bool

	// Duration is the time until the container ends, with ExitCode; without it, it runs until it is stopped.
	Duration *metav1.Duration `json:"duration,omitempty"`
	ExitCode int32            `json:"exitCode,omitempty"`
	// CrashEvery is a Duration after which the container ends with ExitCode, or 1.
	CrashEvery *metav1.Duration `json:"crashEvery,omitempty"`
	// Log are lines of the container's log: all at its start, or, with LogEvery, one after each such time, again and again.
	Log      []string         `json:"log,omitempty"`
	LogEvery *metav1.Duration `json:"logEvery,omitempty"`
	// ReadyAfter is the time after which probes succeed.
	ReadyAfter *metav1.Duration `json:"readyAfter,omitempty"`
	// StopAfter is the time from SIGTERM to the container's end.
	StopAfter *metav1.Duration `json:"stopAfter,omitempty"`
	// CPU and Memory are what the container uses. More memory than its limit ends it: OOMKilled.
	CPU    *resource.Quantity `json:"cpu,omitempty"`
	Memory *resource.Quantity `json:"memory,omitempty"`
	// Ports are the ports that listen, and what answers there: "http" or "echo". Without it, probes of any port succeed.
	Ports map[string]string `json:"ports,omitempty"`
}

// fields are those of a behavior.
func fields() []string {
	return []string{"duration", "exitCode", "crashEvery", "log", "logEvery", "readyAfter", "stopAfter", "cpu", "memory", "ports"}
}

// parseBehavior returns the behavior of a container from its pod's annotations.
func parseBehavior(annotations map[string]string, name string) (behavior, error) {
	key := BehaviorKey + "." + name
	text, ok := annotations[key]
	if !ok {
		key = BehaviorKey
		text, ok = annotations[key]
	}
	if !ok {
		return behavior{}, nil
	}
	b := behavior{declared: true}
	if err := b.parse(text); err != nil {
		return behavior{}, fmt.Errorf("annotation %s: %w", key, err)
	}
	return b, nil
}

func (b *behavior) parse(text string) error {
	var given map[string]any
	if err := yaml.Unmarshal([]byte(text), &given); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(fields(), name) {
			continue
		}
		if near := nearest.Of(name, fields()); near != "" {
			return fmt.Errorf("unknown field %q: did you mean %q?", name, near)
		}
		return fmt.Errorf("unknown field %q: want %s", name, strings.Join(fields(), ", "))
	}
	if err := yaml.UnmarshalStrict([]byte(text), b); err != nil {
		return err
	}
	for name, d := range map[string]*metav1.Duration{
		"duration": b.Duration, "crashEvery": b.CrashEvery, "logEvery": b.LogEvery, "readyAfter": b.ReadyAfter, "stopAfter": b.StopAfter,
	} {
		if d != nil && d.Duration < 0 {
			return fmt.Errorf("%s: %s is negative", name, d.Duration)
		}
	}
	if b.LogEvery != nil && b.LogEvery.Duration < 10*time.Millisecond {
		return fmt.Errorf("logEvery: %s is less than 10ms", b.LogEvery.Duration)
	}
	if b.ExitCode < 0 || b.ExitCode > 255 {
		return fmt.Errorf("exitCode: %d is not from 0 to 255", b.ExitCode)
	}
	if b.Duration != nil && b.CrashEvery != nil {
		return fmt.Errorf("duration and crashEvery exclude each other")
	}
	for port, kind := range b.Ports {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("ports: %q is no port", port)
		}
		if kind != portHTTP && kind != portEcho {
			return fmt.Errorf("ports: %s: %q: want %s or %s", port, kind, portHTTP, portEcho)
		}
	}
	return nil
}

// What answers at a port.
const (
	portHTTP = "http"
	portEcho = "echo"
)

// after returns a duration, or 0.
func after(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}
