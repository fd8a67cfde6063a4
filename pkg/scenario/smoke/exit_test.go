package smoke

import (
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
