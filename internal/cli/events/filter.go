package events

import (
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

func planes() []string {
	return []string{string(event.PlaneSandbox), string(event.PlaneVSphere), string(event.PlaneKubernetes)}
}

// filter chooses events. The zero value lets all through.
type filter struct {
	since  time.Duration
	kinds  []string
	object string
	plane  string
}

func (f *filter) validate() error {
	if f.since < 0 {
		return report.UsageError("--since 5m", "--since %s is in the future", f.since)
	}
	if f.plane != "" && !slices.Contains(planes(), f.plane) {
		try := "--plane " + strings.Join(planes(), "|")
		if guess := nearest.Of(f.plane, planes()); guess != "" {
			try = "--plane " + guess
		}
		return report.UsageError(try, "there is no plane %q", f.plane)
	}
	return nil
}

// matcher returns the test of a valid filter; now is what since counts from.
func (f *filter) matcher(now time.Time) func(event.Event) bool {
	oldest := time.Time{}
	if f.since > 0 {
		oldest = now.Add(-f.since)
	}
	return func(e event.Event) bool {
		return !e.Time.Before(oldest) &&
			(f.plane == "" || string(e.Plane) == f.plane) &&
			(f.object == "" || named(e.Object, f.object)) &&
			(len(f.kinds) == 0 || slices.ContainsFunc(f.kinds, func(k string) bool { return glob.Match(k, e.Kind) }))
	}
}

// named reports whether an object goes by name: NAME, KIND/NAME or VCENTER/NAME; what is in a namespace also without it.
func named(o event.Object, name string) bool {
	if goesBy(o, name) {
		return true
	}
	scope, rest, found := strings.Cut(name, "/")
	return found && goesBy(o, rest) && (strings.EqualFold(scope, o.Kind) || scope == o.VCenter)
}

func goesBy(o event.Object, name string) bool {
	_, bare, namespaced := strings.Cut(o.Name, "/")
	return o.Name == name || namespaced && bare == name
}
