package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/prompt"
)

func vm(action api.VMAction, name string) intent.Named {
	return intent.VM{VMRequest: api.VMRequest{Action: action, VM: name}}
}

func gate(mode string, delay time.Duration) intent.Gate {
	return intent.Gate{GateRequest: api.GateRequest{VCenter: "us", Mode: mode, Delay: api.Duration(delay)}}
}

func subject(kind, name string) api.Subject { return api.Subject{Kind: kind, Name: name} }

func TestParse(t *testing.T) {
	for line, want := range map[string]intent.Intent{
		"":                               nil,
		"  ":                             nil,
		"vsphere-sandbox":                nil,
		"vm power-off worker-1":          vm("power-off", "worker-1"),
		"  vm  power-off\tworker-1 ":     vm("power-off", "worker-1"),
		"vsphere-sandbox vm hang w":      vm("hang", "w"),
		`vm reset 'my vm'`:               vm("reset", "my vm"),
		`vm reset "my \"vm\""`:           vm("reset", `my "vm"`),
		`vm reset my\ vm`:                vm("reset", "my vm"),
		`vm reset it"'"s`:                vm("reset", "it's"),
		`vm reset 'a\b'`:                 vm("reset", `a\b`),
		`vm reset ""`:                    vm("reset", ""),
		"vm destroy w -y":                vm("destroy", "w"),
		"vm destroy --yes w":             vm("destroy", "w"),
		"vm power-on -- -w":              vm("power-on", "-w"),
		"vm power-on a b":                intent.Several{Actions: []intent.Named{vm("power-on", "a"), vm("power-on", "b")}},
		"vm suspend w --vcenter us":      intent.VM{VMRequest: api.VMRequest{Action: "suspend", VM: "w", VCenter: "us"}},
		"vm move --to=esx-2 w":           intent.VM{VMRequest: api.VMRequest{Action: "move", VM: "w", Host: "esx-2"}},
		"vm move --to esx-1 w --to esx2": intent.VM{VMRequest: api.VMRequest{Action: "move", VM: "w", Host: "esx2"}},
		"vcenter up us":                  gate("up", 0),
		"vc down us":                     gate("down", 0),
		"vcenter hang us":                gate("hung", 0),
		"vcenter slow us":                gate("slow", 250*time.Millisecond),
		"vcenter slow us --delay 2s":     gate("slow", 2*time.Second),
		"volume detach data":             intent.Volume{VolumeRequest: api.VolumeRequest{Action: "detach", Volume: "data"}},
		"volume relocate data --to ds":   intent.Volume{VolumeRequest: api.VolumeRequest{Action: "relocate", Volume: "data", Datastore: "ds"}},
		"taint out-of-service n":         intent.OutOfService{OutOfServiceRequest: api.OutOfServiceRequest{Node: "n"}},
		"taint out-of-service n --remove": intent.OutOfService{
			OutOfServiceRequest: api.OutOfServiceRequest{Node: "n", Remove: true},
		},
		"ccm restart":             intent.RestartCCM{},
		"snapshot save a --force": intent.SaveSnapshot{SaveRequest: api.SaveRequest{Name: "a", Replace: true}},
		"snapshot restore a":      intent.RestoreSnapshot{Name: "a"},
		"heal f1 f2":              intent.Heal{HealRequest: api.HealRequest{IDs: []string{"f1", "f2"}}},
		"fault heal --all":        intent.Heal{HealRequest: api.HealRequest{All: true}},
		"inject vm.power-off": intent.Inject{
			InjectRequest: api.InjectRequest{Fault: "vm.power-off"},
		},
		"fault inject vm.power-off a b --for 5m --set x=1 --set y=a=b --mode 50% -l k=v --seed 7 --zone z --dry-run": intent.Inject{
			InjectRequest: api.InjectRequest{
				Fault: "vm.power-off", On: api.Selector{Names: []string{"a", "b"}, Zone: "z", Labels: "k=v"}, For: api.Duration(5 * time.Minute),
				Params: map[string]string{"x": "1", "y": "a=b"}, Mode: "50%", Seed: 7, DryRun: true,
			},
		},
		"fault describe vm.hang":     intent.Fill{Kind: "vm.hang"},
		"explain node n":             intent.Why{Subject: subject("node", "n")},
		"why volume default/data":    intent.Why{Subject: subject("volume", "default/data")},
		"explain vm w --vcenter us":  intent.Why{Subject: api.Subject{Kind: "vm", VCenter: "us", Name: "w"}},
		"describe node n":            intent.Details{Subject: subject("node", "n")},
		"details component ccm":      intent.Details{Subject: subject("component", "ccm")},
		"get nodes":                  intent.Go{Screen: intent.Overview},
		"get node n":                 intent.Focus{Subject: subject("node", "n")},
		"get vm w":                   intent.Focus{Subject: subject("vm", "w")},
		"get volumes":                intent.Go{Screen: intent.Volumes},
		"get volume data":            intent.Focus{Subject: subject("volume", "data")},
		"get zones":                  intent.Go{Screen: intent.Overview},
		"get datastores":             intent.Go{Screen: intent.Volumes},
		"logs":                       intent.Logs{},
		"logs ccm":                   intent.Logs{Component: "ccm"},
		"logs -f ccm --tail 20":      intent.Logs{Component: "ccm"},
		"events":                     intent.Go{Screen: intent.Timeline},
		"tl":                         intent.Go{Screen: intent.Timeline},
		"ov":                         intent.Go{Screen: intent.Overview},
		"pvc":                        intent.Go{Screen: intent.Volumes},
		"faults":                     intent.Go{Screen: intent.Faults},
		"fault leases":               intent.Go{Screen: intent.Faults},
		"calls":                      intent.Go{Screen: intent.Calls},
		"scenario":                   intent.Go{Screen: intent.Scenario},
		"event #12":                  intent.Chain{Seq: 12},
		"filter":                     intent.Filter{},
		"filter us-west 'not ready'": intent.Filter{Text: "us-west not ready"},
		"readonly":                   intent.ReadOnly{},
		"?":                          intent.Help{},
		"q":                          intent.Quit{},
	} {
		got, err := prompt.Parse(line)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%q: %v %s", line, err, d)
		}
	}
}

func TestAskedWrongly(t *testing.T) {
	for line, want := range map[string]string{
		"vn power-off w":                     `unknown command "vn"; did you mean "vm"?`,
		"xyzzy":                              `unknown command "xyzzy"`,
		"vm poweroff w":                      `unknown command "vm poweroff"; did you mean "vm power-off"?`,
		"vm":                                 "vm needs one of: power-off, power-on, suspend, reset, hang, move, destroy",
		"vm power-off":                       "vm power-off needs a VM",
		"vm power-off w --vcentre us":        `vm power-off has no flag --vcentre; did you mean "--vcenter"?`,
		"vm power-off w --to h":              "vm power-off has no flag --to",
		"vm power-off w --vcenter":           "--vcenter needs a value: --vcenter VCENTER",
		"vm move w":                          "vm move needs --to HOST",
		"vm reset 'my vm":                    "the quote ' is not closed",
		"vcenter slow us --delay soon":       "--delay soon is not a delay like 250ms",
		"vcenter slow us --delay 0s":         "--delay 0s is not a delay like 250ms",
		"volume relocate data":               "volume relocate needs --to DATASTORE",
		"taint out-of-service n --remove=no": "--remove takes no value",
		"heal":                               "heal needs a LEASE, or --all",
		"heal f1 --all":                      "heal takes leases or --all, not both",
		"inject":                             "fault inject needs a FAULT",
		"inject a.b --set x":                 `--set "x" is not NAME=VALUE`,
		"inject a.b --set x=1 --set x=2":     "--set x is there twice",
		"inject a.b --for -1s":               "--for -1s is not a time like 30s or 5m",
		"inject a.b --seed x":                "--seed x is not a number",
		"explain node a b":                   `explain node does not understand "b"`,
		"explain host a":                     `unknown command "explain host"`,
		"event x":                            `"x" is not the number of an event`,
		"quit now":                           `quit does not understand "now"`,
	} {
		if i, err := prompt.Parse(line); err == nil || err.Error() != want || i != nil {
			t.Errorf("%q: %v, %v, want %s", line, i, err, want)
		}
	}
}

// What the UI shows as the command line of an action is read as that action.
func TestThereAndBack(t *testing.T) {
	actions := []intent.Action{
		intent.VM{VMRequest: api.VMRequest{Action: api.Move, VM: "w 1", VCenter: "us", Host: "it's"}},
		vm(api.Hang, "-w"), vm(api.Reset, "[a*b]"), vm(api.Destroy, `a"b\c`),
		gate("up", 0), gate("down", 0), gate("hung", 0), gate("slow", 90*time.Second), gate("slow", 1500*time.Millisecond),
		intent.Volume{VolumeRequest: api.VolumeRequest{Action: api.DetachVolume, Volume: "default/data"}},
		intent.Volume{VolumeRequest: api.VolumeRequest{Action: api.RelocateVolume, Volume: "data", Datastore: "ds:///x/"}},
		intent.OutOfService{OutOfServiceRequest: api.OutOfServiceRequest{Node: "n"}},
		intent.OutOfService{OutOfServiceRequest: api.OutOfServiceRequest{Node: "n", Remove: true}},
		intent.RestartCCM{},
		intent.Heal{HealRequest: api.HealRequest{All: true}},
		intent.Heal{HealRequest: api.HealRequest{IDs: []string{"f1", "f2"}}},
		intent.Inject{InjectRequest: api.InjectRequest{Fault: "vm.reset", On: api.Selector{Names: []string{"w*"}}}},
		intent.Inject{InjectRequest: api.InjectRequest{
			Fault: "a.b", Mode: "all", Seed: 7, For: api.Duration(time.Hour + 10*time.Minute), DryRun: true, Params: map[string]string{"x": "1 2", "y": ""},
			On: api.Selector{Names: []string{"u*", "-e"}, VCenter: "a", Datacenter: "b", Cluster: "c", Host: "d", Region: "e", Zone: "f", Role: "worker", Labels: "x in (y, z)"},
		}},
		intent.Each([]string{"a", "b c"}, func(name string) intent.Named { return vm(api.Destroy, name) }),
	}
	for _, action := range []api.VMAction{api.PowerOn, api.PowerOff, api.Suspend} {
		actions = append(actions, vm(action, "w1"))
	}
	for _, a := range actions {
		for _, line := range []string{intent.Quote(a.Args()...), intent.Line(a, "vsphere-sandbox", "")} {
			got, err := prompt.Parse(line)
			if d := cmp.Diff(intent.Intent(a), got); d != "" || err != nil {
				t.Errorf("%s: %v %s", line, err, d)
			}
		}
	}
}

func FuzzThereAndBack(f *testing.F) {
	f.Add("a b", `'"\`)
	f.Fuzz(func(t *testing.T, one, other string) {
		if strings.HasPrefix(one, "-") {
			one = "x" + one
		}
		want := intent.Each([]string{one, other + "x"}, func(name string) intent.Named { return vm(api.PowerOn, strings.TrimLeft(name, "-")) })
		got, err := prompt.Parse(intent.Quote(want.Args()...))
		if d := cmp.Diff(intent.Intent(want), got); d != "" || err != nil {
			t.Errorf("%v %s", err, d)
		}
	})
}
