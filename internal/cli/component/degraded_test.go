package component

import (
	"errors"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// The advice is the log of what is ill, not of another component.
func TestDegraded(t *testing.T) {
	well, ill, stopped := api.Component{Name: "a", Health: "healthy"}, api.Component{Name: "b", Health: "does not answer"}, api.Component{Name: "c", State: "exited"}
	logs := func(c api.Component) string { return "logs " + c.Name }
	for _, tc := range []struct {
		all          []api.Component
		message, try string
	}{
		{all: []api.Component{well, {Name: "d", State: "running"}}},
		{[]api.Component{well, ill, stopped}, "b: does not answer; c: exited", "vsphere-sandbox logs b"},
		{[]api.Component{well, stopped, ill}, "c: exited; b: does not answer", "vsphere-sandbox logs c"},
	} {
		err := Degraded(tc.all, logs)
		if tc.message == "" {
			if err != nil {
				t.Errorf("%v: %v", tc.all, err)
			}
			continue
		}
		if is, ok := errors.AsType[*report.Error](err); !ok || is.Message != tc.message || is.Try != tc.try || is.Exit != report.Degraded {
			t.Errorf("%v: %#v", tc.all, err)
		}
	}
}
