package intent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// sandbox takes down what it is asked for.
type sandbox struct {
	asked  []any
	lease  api.Lease
	healed []api.Lease
	refuse map[string]error // by the name of what is asked for
}

func (s *sandbox) done(r any, name string) (api.Done, error) {
	s.asked = append(s.asked, r)
	return api.Done{Message: "done to " + name}, s.refuse[name]
}

func (s *sandbox) VM(_ context.Context, r api.VMRequest) (api.Done, error) { return s.done(r, r.VM) }

func (s *sandbox) Gate(_ context.Context, r api.GateRequest) (api.Done, error) {
	return s.done(r, r.VCenter)
}

func (s *sandbox) SaveSnapshot(_ context.Context, r api.SaveRequest) (api.Snapshot, error) {
	_, err := s.done("save", r.Name)
	return api.Snapshot{Name: r.Name, VMs: 6, Volumes: 1}, err
}

func (s *sandbox) RestoreSnapshot(_ context.Context, r api.RestoreRequest) (api.Snapshot, error) {
	_, err := s.done("restore", r.Name)
	return api.Snapshot{Name: r.Name}, err
}

func (s *sandbox) RestartCCM(context.Context) (api.Done, error) { return s.done("restart", "it") }
func (s *sandbox) Volume(_ context.Context, r api.VolumeRequest) (api.Done, error) {
	return s.done(r, r.Volume)
}

func (s *sandbox) OutOfService(_ context.Context, r api.OutOfServiceRequest) (api.Done, error) {
	return s.done(r, r.Node)
}

func (s *sandbox) Inject(_ context.Context, r api.InjectRequest) (api.Lease, error) {
	s.asked = append(s.asked, r)
	return s.lease, s.refuse[r.Fault]
}

func (s *sandbox) Heal(_ context.Context, r api.HealRequest) ([]api.Lease, error) {
	s.asked = append(s.asked, r)
	return s.healed, s.refuse["heal"]
}

func vm(action api.VMAction, name string) intent.Named {
	return intent.VM{VMRequest: api.VMRequest{Action: action, VM: name}}
}

func TestLineAndDo(t *testing.T) {
	for _, tc := range []struct {
		action intent.Action
		line   string
		asked  any
		said   string
	}{
		{vm("power-off", "worker-1"), "vm power-off worker-1", api.VMRequest{Action: "power-off", VM: "worker-1"}, "done to worker-1"},
		{
			intent.VM{VMRequest: api.VMRequest{Action: "move", VM: "my vm", VCenter: "us", Host: "esx-2"}},
			"vm move 'my vm' --vcenter us --to esx-2",
			api.VMRequest{Action: "move", VM: "my vm", VCenter: "us", Host: "esx-2"},
			"done to my vm",
		},
		{vm("destroy", "-v"), "vm destroy --yes -- -v", api.VMRequest{Action: "destroy", VM: "-v", Confirmed: true}, "done to -v"},
		{ // what the command line has no word for is not sent
			intent.VM{VMRequest: api.VMRequest{Action: "reset", VM: "it's", Host: "esx-2"}},
			`vm reset 'it'"'"'s'`,
			api.VMRequest{Action: "reset", VM: "it's"},
			"done to it's",
		},
		{intent.Gate{GateRequest: api.GateRequest{VCenter: "us", Mode: "up", Delay: 7}}, "vcenter up us", api.GateRequest{VCenter: "us", Mode: "up"}, "done to us"},
		{intent.Gate{GateRequest: api.GateRequest{VCenter: "us", Mode: "hung"}}, "vcenter hang us", api.GateRequest{VCenter: "us", Mode: "hung"}, "done to us"},
		{
			intent.Gate{GateRequest: api.GateRequest{VCenter: "us", Mode: "slow"}},
			"vcenter slow us --delay 250ms",
			api.GateRequest{VCenter: "us", Mode: "slow", Delay: api.Duration(250 * time.Millisecond)},
			"done to us",
		},
		{
			intent.Volume{VolumeRequest: api.VolumeRequest{Action: "relocate", Volume: "default/data", Datastore: "[ds]"}},
			"volume relocate default/data --to '[ds]'",
			api.VolumeRequest{Action: "relocate", Volume: "default/data", Datastore: "[ds]"},
			"done to default/data",
		},
		{intent.Volume{VolumeRequest: api.VolumeRequest{Action: "detach", Volume: "data"}}, "volume detach data", api.VolumeRequest{Action: "detach", Volume: "data"}, "done to data"},
		{
			intent.OutOfService{OutOfServiceRequest: api.OutOfServiceRequest{Node: "n", Remove: true}},
			"taint out-of-service n --remove",
			api.OutOfServiceRequest{Node: "n", Remove: true},
			"done to n",
		},
		{intent.RestartCCM{}, "ccm restart", "restart", "ccm: done to it"},
		{intent.SaveSnapshot{SaveRequest: api.SaveRequest{Name: "a"}}, "snapshot save a", "save", "snapshot a is saved: 6 VMs, 1 volumes"},
		{intent.SaveSnapshot{SaveRequest: api.SaveRequest{Name: "a", Replace: true}}, "snapshot save a --force", "save", "snapshot a is saved: 6 VMs, 1 volumes"},
		{intent.RestoreSnapshot{Name: "a"}, "snapshot restore a", "restore", "snapshot a is restored"},
		{intent.Heal{HealRequest: api.HealRequest{IDs: []string{"f1", "f2"}}}, "fault heal f1 f2", api.HealRequest{IDs: []string{"f1", "f2"}}, "no active faults"},
		{intent.Heal{HealRequest: api.HealRequest{IDs: []string{"f1"}, All: true}}, "fault heal --all", api.HealRequest{All: true}, "no active faults"},
		{
			intent.Inject{InjectRequest: api.InjectRequest{
				Fault: "vcenter.latency", Mode: "50%", Seed: 7, For: api.Duration(90 * time.Second), DryRun: true,
				Params: map[string]string{"delay": "2s", "client": "a b"},
				On:     api.Selector{Names: []string{"u*"}, VCenter: "a", Datacenter: "b", Cluster: "c", Host: "d", Region: "e", Zone: "f", Role: "worker", Labels: "x=y,z"},
			}},
			"fault inject vcenter.latency 'u*' --vcenter a --datacenter b --cluster c --host d --region e --zone f --role worker " +
				"--selector x=y,z --mode 50% --for 1m30s --seed 7 --set 'client=a b' --set delay=2s --dry-run",
			nil, " would be injected, with seed 0; nothing was done",
		},
		{
			intent.Each([]string{"a", "b"}, func(n string) intent.Named { return vm("suspend", n) }), "vm suspend a b",
			nil, "done to a; done to b",
		},
		{intent.Each([]string{"a"}, func(n string) intent.Named { return vm("hang", n) }), "vm hang a", nil, "done to a"},
	} {
		s := &sandbox{}
		if got := strings.TrimPrefix(intent.Line(tc.action, "prog", "lab"), "prog --name lab "); got != tc.line {
			t.Errorf("line %s, want %s", got, tc.line)
		}
		said, err := tc.action.Do(t.Context(), s)
		if said != tc.said || err != nil {
			t.Errorf("%s: said %q, %v, want %q", tc.line, said, err, tc.said)
		}
		if tc.asked == nil {
			continue
		}
		if d := cmp.Diff([]any{tc.asked}, s.asked); d != "" {
			t.Errorf("%s: %s", tc.line, d)
		}
	}
	if got := intent.Line(intent.RestartCCM{}, "prog", ""); got != "prog ccm restart" {
		t.Errorf("without a name: %s", got)
	}
}

func inject(kind string, mode string, names ...string) intent.Inject {
	return intent.Inject{InjectRequest: api.InjectRequest{Fault: kind, Mode: mode, On: api.Selector{Names: names}}}
}

func TestDanger(t *testing.T) {
	timed := inject("vm.power-off", "all")
	timed.On.Zone, timed.For = "us-west", api.Duration(time.Minute)
	plan := inject("vm.destroy", "", "a")
	plan.DryRun = true
	for _, tc := range []struct {
		action intent.Action
		want   string
	}{
		{vm("power-off", "a"), ""},
		{vm("suspend", "a"), ""},
		{vm("reset", "a"), ""},
		{vm("hang", "a"), ""},
		{vm("destroy", "a"), "Destroy VM a? Its disks go with it, and its node is removed. This cannot be undone."},
		{
			intent.VM{VMRequest: api.VMRequest{Action: "destroy", VM: "a", VCenter: "eu"}},
			"Destroy VM eu/a? Its disks go with it, and its node is removed. This cannot be undone.",
		},
		{intent.Gate{GateRequest: api.GateRequest{VCenter: "us", Mode: "down"}}, ""},
		{intent.Volume{VolumeRequest: api.VolumeRequest{Action: "relocate", Volume: "v"}}, ""},
		{intent.Volume{VolumeRequest: api.VolumeRequest{Action: "detach", Volume: "v"}}, "Detach volume v behind Kubernetes' back? A pod that writes to it loses it."},
		{intent.OutOfService{OutOfServiceRequest: api.OutOfServiceRequest{Node: "n"}}, "Say that node n is out of service? Its pods are removed and its volumes detached, whether it runs or not."},
		{intent.OutOfService{OutOfServiceRequest: api.OutOfServiceRequest{Node: "n", Remove: true}}, ""},
		{intent.Heal{HealRequest: api.HealRequest{All: true}}, ""},
		{intent.RestartCCM{}, ""},
		{intent.SaveSnapshot{SaveRequest: api.SaveRequest{Name: "a"}}, ""},
		{intent.RestoreSnapshot{Name: "a"}, "Go back to snapshot a? What changed since is lost."},
		{inject("vm.power-off", "", "a"), ""},
		{inject("vm.power-off", "one"), ""},
		{inject("vm.power-off", "", "a", "b"), "Inject vm.power-off into a, b? It lasts until it is healed."},
		{inject("vm.power-off", "", "w*"), "Inject vm.power-off into w*? It lasts until it is healed."},
		{inject("vm.power-off", "all"), "Inject vm.power-off into all there are? It lasts until it is healed."},
		{inject("vm.power-off", "50%"), "Inject vm.power-off into 50% of all there are? It lasts until it is healed."},
		{inject("zone.outage", ""), "Inject zone.outage? It lasts until it is healed."},
		{timed, "Inject vm.power-off into all of zone us-west? It is healed after 1m."},
		{inject("vm.unregister", "", "a"), "Inject vm.unregister into a? It lasts until it is healed."},
		{inject("node.object-deleted", "", "a"), "Inject node.object-deleted into a? It lasts until it is healed."},
		{inject("zone.outage", "", "a"), "Inject zone.outage into a? It lasts until it is healed."},
		{plan, ""},
		{intent.Each([]string{"a", "b", "c", "d", "e"}, func(n string) intent.Named { return vm("power-off", n) }), "vm power-off, 5 at once: a, b, c and 2 more?"},
		{intent.Each([]string{"a", "b"}, func(n string) intent.Named { return vm("destroy", n) }), "vm destroy, 2 at once: a, b? It may cost data."},
	} {
		if got := tc.action.Danger(); got != tc.want {
			t.Errorf("%s: %q, want %q", intent.Quote(tc.action.Args()...), got, tc.want)
		}
	}
}

func TestInjectSays(t *testing.T) {
	since := time.Unix(0, 0)
	until := since.Add(90 * time.Second)
	on := []api.LeaseTarget{{VCenter: "us", Name: "us"}, {VCenter: "eu", Name: "w"}, {Name: "n"}, {Name: "m"}, {Name: "o"}}
	for _, tc := range []struct {
		lease api.Lease
		want  string
	}{
		{api.Lease{ID: "f1", Fault: "a.b", State: "active", Targets: on[:1]}, "f1: a.b injected into us"},
		{api.Lease{ID: "f1", Fault: "a.b", State: "active", Targets: on, Since: since, Until: &until}, "f1: a.b injected into us, eu/w, n and 2 more for 1m30s"},
		{api.Lease{ID: "f1", Fault: "a.b", State: "healed"}, "f1: a.b happened"},
	} {
		if got, err := inject("a.b", "").Do(t.Context(), &sandbox{lease: tc.lease}); got != tc.want || err != nil {
			t.Errorf("said %q, %v, want %q", got, err, tc.want)
		}
	}
}

func TestHealSays(t *testing.T) {
	l := api.Lease{ID: "f1", Fault: "a.b"}
	noted := l
	noted.Note = "was healed already"
	for _, tc := range []struct {
		healed []api.Lease
		want   string
	}{
		{[]api.Lease{l, noted}, "f1: a.b healed; f1: a.b was healed already"},
		{[]api.Lease{l, l, l, l, l}, "f1: a.b healed; f1: a.b healed; f1: a.b healed; and 2 more"},
	} {
		if got, err := (intent.Heal{}).Do(t.Context(), &sandbox{healed: tc.healed}); got != tc.want || err != nil {
			t.Errorf("said %q, %v, want %q", got, err, tc.want)
		}
	}
}

// TestRefused: a refusal is shown with its remedy; the other requests are carried out.
func TestRefused(t *testing.T) {
	no := &api.Error{Code: "not-found", Message: "no such thing", Try: "look"}
	all := map[string]error{"x": no, "it": no, "a.b": no, "heal": no}
	x := func(n string) intent.Named { return vm("reset", n) }
	for _, a := range []intent.Action{
		x("x"),
		intent.Gate{GateRequest: api.GateRequest{VCenter: "x"}},
		intent.Volume{VolumeRequest: api.VolumeRequest{Volume: "x"}},
		intent.OutOfService{OutOfServiceRequest: api.OutOfServiceRequest{Node: "x"}},
		inject("a.b", ""),
		intent.Heal{},
		intent.RestartCCM{},
		intent.Each([]string{"a", "x", "b"}, x), intent.Each([]string{"x", "x"}, x),
	} {
		s := &sandbox{refuse: all}
		said, err := a.Do(t.Context(), s)
		if !errors.Is(err, no) {
			t.Errorf("%s: %v", intent.Quote(a.Args()...), err)
		}
		if several, ok := a.(intent.Several); ok {
			if len(s.asked) != len(several.Actions) || len(several.Actions) == 3 && said != "done to a; done to b" {
				t.Errorf("said %q of %v", said, s.asked)
			}
			want := "no such thing; no such thing"
			if said != "" {
				want = "2 of 3 done; no such thing"
			}
			if err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &sandbox{}
	if _, err := intent.Each([]string{"a", "b"}, x).Do(ctx, s); !errors.Is(err, context.Canceled) || len(s.asked) > 1 {
		t.Errorf("went on after the end: %v, %v", err, s.asked)
	}
}
