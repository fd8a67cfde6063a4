package fault

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

func run(t *testing.T, e *clitest.Env, args string) report.Record {
	t.Helper()
	return e.Run(t.Context(), NewCmdFault(e.Deps), strings.Fields(args)...)
}

func TestInjectRequests(t *testing.T) {
	for _, tc := range []struct {
		args string
		want api.InjectRequest
	}{
		{"vcenter.down us", api.InjectRequest{Fault: "vcenter.down", On: api.Selector{Names: []string{"us"}}}},
		{
			"vcenter.latency us eu --set delay=2s --set client=ccm --for 30s --seed 7",
			api.InjectRequest{
				Fault: "vcenter.latency", On: api.Selector{Names: []string{"us", "eu"}}, Params: map[string]string{"delay": "2s", "client": "ccm"},
				For: api.Duration(30 * time.Second), Seed: 7,
			},
		},
		{
			"vcenter.down --vcenter a --datacenter b --cluster c --host d --region e --zone f --role worker -l x=y --mode 50% --dry-run",
			api.InjectRequest{
				Fault: "vcenter.down", Mode: "50%", DryRun: true,
				On: api.Selector{VCenter: "a", Datacenter: "b", Cluster: "c", Host: "d", Region: "e", Zone: "f", Role: "worker", Labels: "x=y"},
			},
		},
	} {
		s := clitest.Serve(t, clitest.ZonesUSEU())
		if r := run(t, clitest.NewEnv(s), "inject "+tc.args); r.Exit != 0 {
			t.Fatalf("%s: ended with %+v", tc.args, r)
		}
		if tc.want.Params == nil {
			tc.want.Params = nil
		}
		got := s.Injected()
		if len(got) != 1 {
			t.Fatalf("%s: %d requests", tc.args, len(got))
		}
		if d := cmp.Diff(tc.want, got[0]); d != "" {
			t.Errorf("%s: %s", tc.args, d)
		}
	}
}

// Wrong arguments are reported without a sandbox.
func TestAskedWrongly(t *testing.T) {
	for _, tc := range []struct{ args, message, try string }{
		{"inject vcenter.latncy", `fault "vcenter.latncy" not found; did you mean "vcenter.latency"?`, "vsphere-sandbox fault list"},
		{"inject vcenter.latency --set dealy=1s", `vcenter.latency has no parameter "dealy"; did you mean "delay"?`, "vsphere-sandbox fault describe vcenter.latency"},
		{"inject vcenter.latency --set delay=soon", `vcenter.latency: parameter "delay": "soon" is no duration like 250ms or 1m30s`, "vsphere-sandbox fault describe vcenter.latency"},
		{"inject vcenter.latency --set delay", `--set "delay" is not NAME=VALUE`, "vsphere-sandbox fault describe vcenter.latency"},
		{"inject vcenter.latency --set delay=1s --set delay=2s", "--set delay is given twice", "--set delay=2s"},
		{"inject vcenter.down --for -1s", "--for -1s is negative", "--for 30s"},
		{"inject vcenter.restart --for 1s", "vcenter.restart happens once and has no duration", "leave --for out"},
		{"inject", "fault inject needs a FAULT", "fault inject --help"},
		{"describe", "fault describe needs a FAULT", "fault describe --help"},
		{"describe vcenter.dwon", `fault "vcenter.dwon" not found; did you mean "vcenter.down"?`, "vsphere-sandbox fault list"},
		{"list apo", `theme "apo" not found; did you mean "api"?`, "vsphere-sandbox fault list"},
		{"heal", "heal needs a LEASE, or --all", "vsphere-sandbox fault leases"},
		{"heal f1 --all", "heal takes leases or --all, not both", "vsphere-sandbox fault heal --all"},
	} {
		r := run(t, clitest.NewEnv(nil), tc.args)
		if d := cmp.Diff(report.Record{Code: r.Code, Message: tc.message, Try: tc.try, Exit: report.Usage}, r); d != "" {
			t.Errorf("%s: %s", tc.args, d)
		}
	}
}

// broken is a world with leases.
func broken() clitest.World {
	w := clitest.ZonesUSEU()
	until, ended := clitest.Now.Add(30*time.Second), clitest.Now.Add(-time.Minute)
	w.Leases = []api.Lease{
		{
			ID: "f1", Fault: "vm.power-off", State: "healed", Since: clitest.Now.Add(-5 * time.Minute), Ended: &ended,
			Targets: []api.LeaseTarget{{Kind: "VM", VCenter: "us", Name: "worker-1", Does: "power off", State: "healed"}},
		},
		{
			ID: "f2", Fault: "vcenter.latency", State: "active", Since: clitest.Now.Add(-2 * time.Minute), Until: &until, Seq: 7,
			Params:  map[string]string{"delay": "1s", "client": "ccm"},
			Targets: []api.LeaseTarget{{Kind: "VCenter", VCenter: "us", Name: "us", Does: "answers 1s later to ccm", State: "active"}},
		},
		{
			ID: "f3", Fault: "vm.suspend", State: "failed", Since: clitest.Now.Add(-time.Minute),
			Targets: []api.LeaseTarget{
				{Kind: "VM", VCenter: "eu", Name: "worker-1", Does: "suspend", State: "healed"},
				{Kind: "VM", VCenter: "eu", Name: "worker-2", Does: "suspend", State: "failed", Error: "no host"},
				{Kind: "VM", VCenter: "eu", Name: "worker-3", Does: "suspend", State: "healed"},
				{Kind: "VM", VCenter: "eu", Name: "worker-4", Does: "suspend", State: "healed"},
			},
		},
	}
	return w
}

func TestOutput(t *testing.T) {
	for name, args := range map[string]string{
		"describe": "describe vcenter.latency", "describe json": "describe vcenter.restart -o json",
		"inject": "inject vcenter.down us --for 1m", "inject dry run": "inject vcenter.down us --dry-run --seed 7", "inject json": "inject vcenter.down us -o json",
		"leases": "leases", "leases all wide": "leases --all -o wide", "leases yaml": "leases -o yaml", "leases names": "leases --all -o name",
		"heal": "heal f1 f2", "heal all": "heal --all -o name",
	} {
		t.Run(name, func(t *testing.T) {
			e := clitest.NewEnv(clitest.Serve(t, broken()))
			if r := run(t, e, args); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			clitest.Golden(t, name, e.Out.String()+e.Err.String())
		})
	}
}

func TestNothingIsBroken(t *testing.T) {
	for args, want := range map[string]string{"leases": "no active faults\n", "heal --all": "no active faults\n", "leases -o name": "no active faults\n"} {
		e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
		if r := run(t, e, args); r.Exit != 0 || e.Out.Len() > 0 || e.Err.String() != want {
			t.Errorf("%s: %+v, %q, %q", args, r, e.Out, e.Err)
		}
	}
}

// The sandbox's refusal is printed unchanged.
func TestRefused(t *testing.T) {
	s := clitest.Serve(t, broken())
	e := clitest.NewEnv(s)
	want := report.Record{Code: "not-found", Message: `lease "f9" not found`, Try: "vsphere-sandbox fault leases", Exit: report.Failure}
	if d := cmp.Diff(want, run(t, e, "heal f9")); d != "" {
		t.Error(d)
	}
	s.Refuse(&api.Error{Code: "conflict", Message: "vm us/worker-1: is off", Try: "vsphere-sandbox get vms"})
	want = report.Record{Code: "conflict", Message: "vm us/worker-1: is off", Try: "vsphere-sandbox get vms", Exit: report.Failure}
	if d := cmp.Diff(want, run(t, e, "inject vcenter.down us")); d != "" {
		t.Error(d)
	}
}

// The catalogue is printed in full, without a sandbox, as table and as data.
func TestCatalogue(t *testing.T) {
	for _, format := range []string{"table", "wide", "json", "yaml", "name"} {
		e := clitest.NewEnv(nil)
		if r := run(t, e, "list -o "+format); r.Exit != 0 {
			t.Fatalf("%s: ended with %+v", format, r)
		}
		for _, name := range catalogue.Names() {
			if !strings.Contains(e.Out.String(), name) {
				t.Errorf("%s: no %s", format, name)
			}
		}
	}
	e := clitest.NewEnv(nil)
	if r := run(t, e, "list api -o name"); r.Exit != 0 || !strings.Contains(e.Out.String(), "fault/vcenter.down\n") || strings.Contains(e.Out.String(), "fault/vm.") {
		t.Errorf("one theme: %+v, %s", r, e.Out)
	}
	for _, k := range catalogue.Kinds() {
		e := clitest.NewEnv(nil)
		if r := run(t, e, "describe "+k.Name); r.Exit != 0 || !strings.HasPrefix(e.Out.String(), k.Name+" "+k.Short+".\n") {
			t.Errorf("%s: %+v", k.Name, r)
		}
		if line := strings.Fields(example(k)); run(t, clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU())), strings.Join(line[2:], " ")).Exit != 0 {
			t.Errorf("%s: the example cannot be typed: %v", k.Name, line)
		}
	}
}

func TestCompletion(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, broken()))
	cmd := NewCmdInject(e.Deps, nil)
	cmd.SetContext(t.Context())
	words := func(got []string) string {
		for i, w := range got {
			got[i], _, _ = strings.Cut(w, "\t")
		}
		slices.Sort(got)
		return strings.Join(got, " ")
	}
	kinds, _ := completeTargets(e.Deps)(cmd, nil, "vcenter.cert")
	targets, _ := completeTargets(e.Deps)(cmd, []string{"vcenter.down"}, "")
	one, _ := completeTargets(e.Deps)(cmd, []string{"vcenter.down", "us"}, "")
	params, _ := completeSettings(cmd, []string{"vcenter.latency"}, "")
	values, _ := completeSettings(cmd, []string{"vcenter.latency"}, "transport=")
	bools, _ := completeSettings(cmd, []string{"vcenter.password-rotated"}, "keep-sessions=t")
	leases, _ := completeLeases(e.Deps)(cmd, nil, "")
	for i, got := range []struct {
		words []string
		want  string
	}{
		{kinds, "vcenter.certificate-expired vcenter.certificate-rotated vcenter.certificate-wrong-name"},
		{targets, "eu us"},
		{one, "eu"},
		{params, "account= client= count= delay= jitter= methods= object= share= transport="},
		{values, "transport=rest transport=soap"},
		{bools, "keep-sessions=true"},
		{leases, "f2 f3"},
	} {
		if d := cmp.Diff(got.want, words(got.words)); d != "" {
			t.Errorf("%d: %s", i, d)
		}
	}
}
