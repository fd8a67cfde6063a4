package wait

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		args string
		n    int
		exit int
	}{
		{"--for=ready", 1, 0},
		{"--for ready --for=node/a=Ready --timeout 5s", 2, 0},
		{"--for=node/a:taint=node.cloudprovider.kubernetes.io/shutdown", 1, 0},
		{"--for=node/a:no-taint=x --for=vm/us/b=off --for=vcenter/us=up", 3, 0},
		{"", 0, 2},
		{"--for=ready --timeout 0s", 0, 2},
		{"--for=redy", 0, 2},
		{"--for=node/a", 0, 2},
		{"--for=node/=Ready", 0, 2},
		{"--for=node/a=", 0, 2},
		{"--for=node/a=ready", 0, 2},
		{"--for=node/a:tint=x", 0, 2},
		{"--for=vm/a:taint=x", 0, 2},
		{"--for=pod/a=Ready", 0, 2},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			var got options
			cmd := NewCmdWait(e.Deps, func(_ context.Context, o *options) error { got = *o; return nil })
			if r := e.Run(t.Context(), cmd, strings.Fields(tc.args)...); r.Exit != tc.exit || len(got.conditions) != tc.n {
				t.Errorf("%d conditions, ended with %+v", len(got.conditions), r)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	data := clitest.ZonesUSEU()
	base := func() world {
		return world{data.Status, append([]api.Node{}, data.Nodes...), append([]api.VM{}, data.VMs...), append([]api.VCenter{}, data.VCenters...)}
	}
	for _, tc := range []struct {
		text   string
		change func(*world)
		want   bool
		why    string
		err    string
	}{
		{text: "ready", want: true},
		{text: "ready", change: func(w *world) { w.status.Phase, w.status.Step = api.Booting, "nodes" }, why: "the sandbox is booting nodes"},
		{text: "ready", change: func(w *world) { w.status.Nodes.Ready = 1 }, why: "1 of 2 nodes are ready"},
		{text: "initialized", want: true},
		{text: "initialized", change: func(w *world) { w.status.Nodes = api.NodeCount{} }, why: "0 of 0 nodes are initialized"},
		{text: "node/worker-1=Ready", want: true},
		{text: "node/worker-1.example=Ready", change: func(w *world) { w.nodes[1].Ready = "Unknown" }, why: "node worker-1.example is Unknown"},
		{text: "node/worker-1=NotReady", change: func(w *world) { w.nodes[1].Ready = "Unknown" }, want: true},
		{text: "node/worker-1=NotReady", change: func(w *world) { w.nodes[1].Ready = "False" }, want: true},
		{text: "node/worker-1=NotReady", why: "node worker-1 is Ready"},
		{text: "node/worker-1=NotReady", change: func(w *world) { w.nodes[1] = api.Node{VM: "worker-1"} }, why: "node worker-1 is Unregistered"},
		{text: "node/worker-1=Unknown", change: func(w *world) { w.nodes[1].Ready = "False" }, why: "node worker-1 is NotReady"},
		{text: "node/worker-1=Unknown", change: func(w *world) { w.nodes[1].Ready = "Unknown" }, want: true},
		{text: "node/worker-1=initialized", change: func(w *world) { w.nodes[1].Initialized = false }, why: "node worker-1 is not initialized"},
		{text: "node/worker-1=registered", want: true},
		{text: "node/worker-1=deleted", why: "node worker-1 is Ready"},
		{text: "node/worker-1=deleted", change: func(w *world) { w.nodes = nil }, want: true},
		{text: "node/wroker-1=Ready", err: `node "wroker-1" not found; did you mean "worker-1"?`},
		{text: "node/wroker-1=Ready", change: func(w *world) { w.status.Phase = api.Booting }, why: `node "wroker-1" not found yet`},
		{text: "node/control-plane-1:taint=control-plane", want: true},
		{text: "node/control-plane-1:taint=node-role.kubernetes.io/control-plane", want: true},
		{text: "node/control-plane-1:taint=plane", why: "the taints of node control-plane-1: node-role.kubernetes.io/control-plane:NoSchedule"},
		{text: "node/worker-1:no-taint=shutdown", want: true},
		{text: "node/worker-1:taint=shutdown", why: "the taints of node worker-1: none"},
		{text: "node/mars:taint=shutdown", err: `node "mars" not found`},
		{text: "vm/worker-1=on", want: true},
		{text: "vm/eu/worker-1=off", why: "vm eu/worker-1 is on"},
		{text: "vm/mars=deleted", want: true},
		{text: "vm/mars=on", err: `VM "mars" not found`},
		{text: "ccm=healthy", change: components("healthy"), want: true},
		{text: "ccm=healthy", change: components("healthy", "does not listen at its port"), why: "ccm-1 does not listen at its port"},
		{text: "ccm=healthy", change: components(), err: "the sandbox has no cloud controller manager"},
		{text: "ccm=healthy", change: func(w *world) { w.status.Components, w.status.Phase = nil, api.Booting }, why: "there is no cloud controller manager yet"},
		{text: "vcenter/us=up", want: true},
		{text: "vcenter/us=down", why: "vcenter us is up"},
		{text: "vcenter/mars=up", err: `vCenter "mars" not found`},
	} {
		t.Run(tc.text, func(t *testing.T) {
			c, err := parse(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			w := base()
			if tc.change != nil {
				tc.change(&w)
			}
			ok, why, err := c.holds(w)
			if err != nil || tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Fatalf("err = %v, want %s", err, tc.err)
				}
				return
			}
			if ok != tc.want || !ok && why != tc.why {
				t.Errorf("%v (%s), want %v (%s)", ok, why, tc.want, tc.why)
			}
		})
	}
}

// components are an API server, which is not asked, and cloud controller managers in these states of health.
func components(health ...string) func(*world) {
	return func(w *world) {
		w.status.Components = []api.Component{{Name: "kube-apiserver"}}
		for i, h := range health {
			w.status.Components = append(w.status.Components, api.Component{Name: fmt.Sprintf("ccm-%d", i), Source: "builtin", Health: h})
		}
	}
}

func TestWaitUntilItHappens(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	e := clitest.NewEnv(s)
	ended := make(chan report.Record, 1)
	go func() {
		ended <- e.Run(t.Context(), NewCmdWait(e.Deps, nil), "--for=node/worker-1=Unknown", "--for=node/worker-1:taint=shutdown")
	}()
	s.Change(func(w *clitest.World) { w.Nodes[1].Ready = "Unknown" }, api.EventLine{})
	select {
	case r := <-ended:
		t.Fatalf("ended with %+v", r)
	case <-time.After(200 * time.Millisecond): // long enough for it to look, and to find only one of two
	}
	s.Change(func(w *clitest.World) {
		w.Nodes[1].Taints = []string{"node.cloudprovider.kubernetes.io/shutdown:NoSchedule"}
	}, api.EventLine{})
	if r := <-ended; r.Exit != 0 {
		t.Errorf("ended with %+v", r)
	}
}

func TestTimeout(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	// Time enough for a busy machine to look once.
	r := e.Run(t.Context(), NewCmdWait(e.Deps, nil), "--for=vm/worker-1=off", "--timeout=3s")
	want := report.Record{
		Code: "timeout", Message: "not so after 3s: vm/worker-1=off (vm worker-1 is on)", Try: "vsphere-sandbox events --since 3s", Exit: report.Degraded,
	}
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
	if e.Out.Len() > 0 || !strings.Contains(e.Err.String(), "DATACENTER") {
		t.Errorf("printed %q and %q", e.Out, e.Err)
	}
}

func TestTimeoutBeforeAnything(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	r := e.Run(t.Context(), NewCmdWait(e.Deps, nil), "--for=vm/worker-1=off", "--timeout=1ns")
	if want := "not so after 1ns: vm/worker-1=off (the sandbox has not answered yet)"; r.Message != want || r.Code != "timeout" {
		t.Errorf("ended with %+v, want %s", r, want)
	}
	if e.Out.Len() > 0 || e.Err.Len() > 0 {
		t.Errorf("printed %q and %q", e.Out, e.Err)
	}
}

func TestOtherEnds(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	e := clitest.NewEnv(s)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if r := e.Run(ctx, NewCmdWait(e.Deps, nil), "--for=vm/worker-1=off"); r.Code == "timeout" {
		t.Errorf("another's deadline is taken for ours: %+v", r)
	}
	if r := e.Run(t.Context(), NewCmdWait(e.Deps, nil), "--for=vm/mars=on"); r.Code != "not-found" {
		t.Errorf("ended with %+v", r)
	}
	s.End()
	if r := e.Run(t.Context(), NewCmdWait(e.Deps, nil), "--for=vm/worker-1=off"); r.Code != "ended" {
		t.Errorf("ended with %+v", r)
	}
}

func TestCompletion(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	for typed, want := range map[string]string{
		"":           "ready initialized ccm=healthy node/ vm/ vcenter/",
		"no":         "ready initialized ccm=healthy node/ vm/ vcenter/",
		"vm/":        "vm/control-plane-1= vm/worker-1=",
		"vcenter/u":  "vcenter/us= vcenter/eu=",
		"vm/x=":      "vm/x=on vm/x=off vm/x=suspended vm/x=deleted",
		"pod/worker": "ready initialized ccm=healthy node/ vm/ vcenter/",
	} {
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		words, _ := completeFor(e.Deps)(cmd, nil, typed)
		if d := cmp.Diff(want, strings.Join(words, " ")); d != "" {
			t.Errorf("%q: %s", typed, d)
		}
	}
}
