package smoke

import (
	"slices"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Sessions count from the start of the first process. Where a scenario has killed one, those of its predecessor do not.
func TestStartOf(t *testing.T) {
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	list := []api.Component{
		{Name: "csi-controller", Since: first.Add(time.Minute)}, {Name: "csi-syncer", Since: first}, {Name: "ccm", Since: first.Add(-time.Minute)},
	}
	if got := driver().startOf(api.Status{Components: list}); !got.Equal(first) {
		t.Errorf("%s", got)
	}
	list[0].Restarts = 1
	if got := driver().startOf(api.Status{Components: list}); !got.Equal(first.Add(time.Minute)) {
		t.Errorf("started again: %s", got)
	}
}

// A syncer has no health. It has to run.
func TestHealthy(t *testing.T) {
	list := []api.Component{{Name: "csi-controller", State: "running", Health: "healthy"}, {Name: "csi-syncer", State: "running"}, {Name: "ccm", State: "failed"}}
	if !driver().healthy(api.Status{Components: list}) {
		t.Error("not healthy")
	}
	for name, spoil := range map[string]func(list []api.Component){
		"controller is asked":   func(list []api.Component) { list[0].Health = "" },
		"controller is not":     func(list []api.Component) { list[0].Health = "unhealthy" },
		"syncer does not run":   func(list []api.Component) { list[1].State = "restarting" },
		"syncer says it is not": func(list []api.Component) { list[1].Health = "unhealthy" },
	} {
		spoilt := slices.Clone(list)
		if spoil(spoilt); driver().healthy(api.Status{Components: spoilt}) {
			t.Errorf("%s: healthy", name)
		}
	}
	if driver().healthy(api.Status{}) {
		t.Error("there is none")
	}
}
