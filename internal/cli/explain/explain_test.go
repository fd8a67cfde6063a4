package explain

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func world() clitest.World {
	w := clitest.ZonesUSEU()
	events := []event.Event{
		{Seq: 41, Time: clitest.Now, Kind: "command.power-off", Object: event.Object{Kind: "VM", VCenter: "eu", Name: "worker-1"}, Message: "vm power-off worker-1"},
		{Seq: 42, Time: clitest.Now.Add(3 * time.Millisecond), Kind: "vm.powered-off", Object: event.Object{Kind: "VM", VCenter: "eu", Name: "worker-1"}, Message: "powered off", Cause: 41},
		{Seq: 45, Time: clitest.Now.Add(5203 * time.Millisecond), Kind: "node.unknown", Object: event.Object{Kind: "Node", Name: "worker-1.example"}, Message: "Ready=Unknown: no heartbeat within the grace period", Cause: 42},
	}
	w.Explanations = map[string]api.Explanation{
		"node/worker-1.example": {
			Subject: api.Subject{Kind: "node", VCenter: "eu", Name: "worker-1.example"},
			Summary: `node worker-1.example: its VM eu/worker-1 is powered off, because of the command "vm power-off worker-1" (#41)`,
			Questions: []api.Question{
				{
					Ask: "Why is it not ready?", Answer: `its VM eu/worker-1 is powered off, because of the command "vm power-off worker-1" (#41)`, Level: event.Error,
					Try: "vsphere-sandbox vm power-on worker-1", Evidence: []api.Evidence{
						{What: "condition Ready", Found: "Unknown since 12:00:05: Kubelet stopped posting node status.", Verdict: "wrong", Source: "API server"},
						{What: "Lease kube-node-lease/worker-1.example", Found: "none: the kubelet has not renewed one", Verdict: "missing", Source: "API server"},
						{What: "its inventory", Found: "connection refused", Verdict: "unknown", Source: "vCenter us"},
						{What: "#45 node.unknown at 12:00:05", Found: "command.power-off (vm power-off worker-1) → vm.powered-off +3ms → node.unknown +5.2s", Source: "event log", Event: 45},
					},
				},
				{Ask: "Why does it have the taint node.kubernetes.io/unreachable?", Answer: "a user added it", Level: event.Warning},
				{Ask: "Which VM is it?", Answer: "VM eu/worker-1", Level: event.Info, Evidence: []api.Evidence{{What: "VM eu/worker-1", Found: "powered on", Verdict: "ok", Source: "vCenter eu"}}},
			},
			Events: events,
		},
		"service/web": {
			Subject: api.Subject{Kind: "service", Name: "default/web"}, Summary: "service default/web: it answers at 127.1.0.1:8080", Events: []event.Event{},
			Questions: []api.Question{{Ask: "Where does it answer?", Answer: "it answers at 127.1.0.1:8080", Level: event.Info, Evidence: []api.Evidence{
				{What: "Service web", Found: "type LoadBalancer, ports 8080/TCP", Source: "API server"}, {What: "status.loadBalancer", Found: "127.1.0.1:8080", Verdict: "ok", Source: "API server"},
			}}},
		},
		"vm/worker-1": {Subject: api.Subject{Kind: "vm", VCenter: "eu", Name: "worker-1"}, Summary: "VM eu/worker-1 is powered on", Events: []event.Event{}},
	}
	for _, v := range w.Volumes {
		e := api.Explanation{Subject: api.Subject{Kind: "volume", Name: v.Name}, Summary: "volume " + v.Claim + " is " + string(v.State), Volume: &v, Events: events[:1], Questions: []api.Question{}}
		w.Explanations["volume/"+strings.TrimPrefix(v.Claim, "default/")], w.Explanations["volume/"+v.Claim] = e, e
	}
	return w
}

func TestPlain(t *testing.T) {
	for _, args := range []string{"node worker-1.example", "vm worker-1", "volume data", "service web"} {
		kind, _, _ := strings.Cut(args, " ")
		t.Run(kind, func(t *testing.T) {
			e := clitest.NewEnv(clitest.Serve(t, world()))
			if r := e.Run(t.Context(), NewCmdExplain(e.Deps), strings.Fields(args)...); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			clitest.Golden(t, kind, e.Out.String())
			for line := range strings.Lines(e.Out.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%d columns: %s", n, line)
				}
			}
		})
	}
}

func TestJSON(t *testing.T) {
	for _, tc := range []struct{ args, kind string }{
		{"node worker-1.example", "NodeExplanation"}, {"vm worker-1", "VMExplanation"}, {"volume default/data", "VolumeExplanation"}, {"service web", "ServiceExplanation"},
	} {
		e := clitest.NewEnv(clitest.Serve(t, world()))
		if r := e.Run(t.Context(), NewCmdExplain(e.Deps), append(strings.Fields(tc.args), "-o", "json")...); r.Exit != 0 {
			t.Fatalf("ended with %+v", r)
		}
		var got struct {
			Kind string
			Explanation
		}
		if err := json.Unmarshal(e.Out.Bytes(), &got); err != nil || got.Kind != tc.kind || got.Summary == "" || got.Events == nil {
			t.Errorf("%s: %v, %+v", tc.args, err, got)
		}
		if volume := tc.kind == "VolumeExplanation"; volume != (got.Volume != nil) || volume && got.Volume.Name != "pvc-1" {
			t.Errorf("%s: %+v", tc.args, got.Volume)
		}
	}
}

func TestRefused(t *testing.T) {
	for args, want := range map[string]int{
		"volume dta": report.Failure, "service wob": report.Failure, "node worker": report.Failure, "vm worker": report.Failure,
		"volume": report.Usage, "node": report.Usage, "node a b": report.Usage, "volum data": report.Usage, "node a -o xml": report.Usage,
	} {
		e := clitest.NewEnv(clitest.Serve(t, world()))
		if r := e.Run(t.Context(), NewCmdExplain(e.Deps), strings.Fields(args)...); r.Exit != want {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

func TestArguments(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, world()))
	var got options
	cmd := NewCmdVM(e.Deps, func(_ context.Context, o *options) error { got = *o; return nil })
	if r := e.Run(t.Context(), cmd, "worker-1", "--vcenter", "eu", "-o", "yaml"); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	if want := (api.Subject{Kind: "vm", VCenter: "eu", Name: "worker-1"}); got.subject != want || got.format != "yaml" {
		t.Errorf("got %+v", got)
	}
}

// What a client, a guest or a log says does not reach the terminal's controls.
func TestControls(t *testing.T) {
	const bad = "a\x1b[2Jb\u009bc\ad"
	var b strings.Builder
	err := show(&b, api.Explanation{
		Summary: bad, Questions: []api.Question{{Ask: bad, Answer: bad, Try: bad, Evidence: []api.Evidence{{What: bad, Found: bad, Source: bad}}}},
		Volume: &api.Volume{Waits: bad}, Events: []event.Event{{Seq: 1, Time: clitest.Now, Kind: "k", Message: bad}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := b.String(); strings.ContainsFunc(out, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) || !strings.Contains(out, `a\x1b[2Jb\u009bc\x07d`) {
		t.Errorf("%q", out)
	}
}

// Of a long history the newest is shown, with what came before it counted.
func TestHistory(t *testing.T) {
	var events []event.Event
	for i := range uint64(shown + 3) {
		events = append(events, event.Event{Seq: i + 1, Time: clitest.Now.Add(time.Duration(i) * time.Second), Kind: "k", Cause: i})
	}
	var b strings.Builder
	if err := show(&b, api.Explanation{Summary: "s", Events: events}); err != nil {
		t.Fatal(err)
	}
	if out := b.String(); !strings.Contains(out, "(3 earlier events") || strings.Contains(out, "#3 k") || !strings.Contains(out, "#4 k : (+1s after #3)") {
		t.Error(out)
	}
}

// An explanation that is longer than a screen ends with what it began with, and what to try.
func TestVerdictLast(t *testing.T) {
	e := api.Explanation{Summary: "node w1: its VM is powered off", Questions: []api.Question{
		{Ask: "Is it initialized?", Answer: "yes", Level: event.Info, Try: "nothing"},
		{Ask: "Why is it not ready?", Answer: "its VM is off", Level: event.Error, Try: "vsphere-sandbox vm power-on w1"},
	}}
	for len(e.Questions[1].Evidence) < screen {
		e.Questions[1].Evidence = append(e.Questions[1].Evidence, api.Evidence{What: "a", Found: "b"})
	}
	var b strings.Builder
	if err := show(&b, e); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), e.Summary+"\n") || !strings.HasSuffix(b.String(), "\n\n"+e.Summary+"\nTry: vsphere-sandbox vm power-on w1\n") {
		t.Error(b.String())
	}
	e.Questions[1].Evidence, b = nil, strings.Builder{}
	if err := show(&b, e); err != nil || strings.Count(b.String(), e.Summary) != 1 {
		t.Errorf("%v: %s", err, &b)
	}
}
