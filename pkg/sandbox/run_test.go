package sandbox

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// The newest run replaces the previous one; an invalid one is not published.
func TestPublishedRun(t *testing.T) {
	s := newSandbox(t, "single")
	c := serve(t, s)
	w := watch(t, c, 0)
	run := api.Run{Name: "power-off", State: "running", Began: time.Now().UTC(), Number: 1, Of: 2, Steps: []api.RunStep{{Text: "note a", State: "running"}, {Text: "note b", State: "pending"}}}
	if err := c.Publish(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&run, w.next("a run", func(u api.Update) bool { return u.Run != nil }).Run); d != "" {
		t.Errorf("(-published +told):\n%s", d)
	}
	next := api.Run{Name: "host-down", State: "passed"}
	if err := c.Publish(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if got := tableOf(s, func(u api.Update) *api.Run { return u.Run }); len(got) != 1 || got[0].Name != "host-down" {
		t.Errorf("told %+v", got)
	}
	for _, bad := range []api.Run{
		{State: "running"}, {Name: "x", State: "walking"}, {Name: "x", State: "running", Steps: []api.RunStep{{Text: "a"}}},
	} {
		requireCode(t, "run "+bad.Name, c.Publish(t.Context(), bad), "invalid")
	}
}
