package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

func vmSubject() api.Subject { return api.Subject{Kind: "vm", VCenter: "us", Name: "worker-west-1"} }

// form is one in a sandbox where nothing is broken.
func form(t testing.TB, kind string, s api.Subject) *Form {
	f := NewForm(kindOf(t, kind), s, tuitest.At(15*time.Second))
	f.SetSize(f.Size(80, 40))
	return f
}

// write presses keys: names in <> or single letters.
func write(f *Form, words ...string) (last intent.Intent) {
	for _, w := range words {
		if name, ok := strings.CutPrefix(w, "<"); ok {
			last, _ = f.Handle(tuitest.Key(strings.TrimSuffix(name, ">")))
			continue
		}
		for _, k := range tuitest.Type(w) {
			last, _ = f.Handle(k)
		}
	}
	return last
}

func TestForm(t *testing.T) {
	f := form(t, "vm.crash-loop", vmSubject())
	golden(t, "form", f)
	write(f, "<tab>", "<right>", "<tab>", "30", "<tab>", "soon")
	golden(t, "form-wrong", f)
	fills(t, f)

	f = form(t, "vcenter.latency", api.Subject{})
	golden(t, "form-long", f)
	write(f, "us", "<pgdown>", "3")
	golden(t, "form-long-end", f)
	fills(t, f)

	f = form(t, "nothing.to-ask", api.Subject{})
	golden(t, "form-nothing", f)
	fills(t, f)
}

func TestFormPlan(t *testing.T) {
	f := form(t, "vm.power-off", api.Subject{})
	write(f, "zone=us-east", "<tab>", "50%", "<ctrl+d>")
	golden(t, "form-planning", f)
	f.SetPlan(1, api.Lease{Fault: "vm.power-off", Seed: 4711, Targets: []api.LeaseTarget{
		{Kind: "VM", VCenter: "us", Name: "worker-east-1", Does: "power off (is on)"},
		{Kind: "VM", VCenter: "us", Name: "worker-east-2", Does: "power off (is on)"},
	}}, nil)
	golden(t, "form-planned", f)
	fills(t, f)
	write(f, "<ctrl+d>")
	f.SetPlan(2, api.Lease{}, &api.Error{Code: "conflict", Message: `VM "us/worker-east-1": lease f3 (vm.suspend) has its power already`, Try: "vsphere-sandbox fault heal f3"})
	golden(t, "form-refused", f)
	fills(t, f)
}

// What was planned is what happens; what is written after that is another thing.
func TestPlanIsOfWhatIsWritten(t *testing.T) {
	f := form(t, "vm.power-off", api.Subject{})
	want := api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Zone: "us-east"}, Mode: "one", DryRun: true}
	got := write(f, "zone=us-east", "<tab>", "one", "<ctrl+d>")
	if d := cmp.Diff(intent.Intent(intent.Plan{InjectRequest: want, Ask: 1}), got); d != "" {
		t.Fatalf("plan (-want +got):\n%s", d)
	}
	f.SetPlan(1, api.Lease{Seed: 4711, Targets: make([]api.LeaseTarget, 1)}, nil)
	want.DryRun, want.Seed = false, 4711
	if d := cmp.Diff(intent.Intent(intent.Inject{InjectRequest: want}), write(f, "<ctrl+s>")); d != "" {
		t.Errorf("after the plan (-want +got):\n%s", d)
	}
	if again := write(f, "<ctrl+d>").(intent.Plan); again.Seed != 0 {
		t.Errorf("planned again: the same is drawn, with seed %d", again.Seed)
	}
	f.SetPlan(2, api.Lease{Seed: 4712}, nil)
	want.Seed, want.For = 0, api.Duration(30*time.Second)
	if d := cmp.Diff(intent.Intent(intent.Inject{InjectRequest: want}), write(f, "<tab>", "30s", "<ctrl+s>")); d != "" {
		t.Errorf("after more was written (-want +got):\n%s", d)
	}
	if strings.Contains(ansi.Strip(f.View()), "plan ") && f.plan.there {
		t.Error("the plan of something else is shown")
	}
}

// An answer that comes late is not taken for that to a later question, whichever comes first.
func TestLatePlan(t *testing.T) {
	for _, order := range [][2]int{{1, 2}, {2, 1}} {
		f := form(t, "vm.power-off", vmSubject())
		write(f, "<ctrl+d>", "<tab>", "one", "<ctrl+d>")
		for _, ask := range order {
			f.SetPlan(ask, api.Lease{Seed: uint64(ask)}, nil)
			if f.plan.there && f.plan.lease.Seed != 2 {
				t.Errorf("answers %v: that to the first is shown for the second", order)
			}
		}
		if !f.plan.there {
			t.Errorf("answers %v: that to the second is not shown", order)
		}
		write(f, "<ctrl+d>", "<backspace>")
		f.SetPlan(3, api.Lease{Seed: 3}, nil)
		if f.plan.there {
			t.Error("an answer is shown for what was changed meanwhile")
		}
	}
}

func TestFormRequest(t *testing.T) {
	inject := func(r api.InjectRequest) intent.Intent { return intent.Inject{InjectRequest: r} }
	for _, tt := range []struct {
		name, kind string
		subject    api.Subject
		keys       []string
		want       intent.Intent
		line       string
	}{
		{
			"the subject", "vm.power-off", vmSubject(),
			[]string{"<ctrl+s>"},
			inject(api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Names: []string{"worker-west-1"}}}),
			"vsphere-sandbox fault inject vm.power-off worker-west-1",
		},
		{
			"the VM of the node", "vm.power-off",
			api.Subject{Kind: "node", Name: "worker-eu-2"},
			[]string{"<ctrl+s>"},
			inject(api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Names: []string{"worker-eu-2"}}}),
			"vsphere-sandbox fault inject vm.power-off worker-eu-2",
		},
		{
			"enter in the last field", "vm.power-off", vmSubject(),
			[]string{"<enter>", "<enter>", "1m", "<enter>"},
			inject(api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Names: []string{"worker-west-1"}}, For: api.Duration(time.Minute)}),
			"vsphere-sandbox fault inject vm.power-off worker-west-1 --for 1m",
		},
		{
			"another target", "vm.power-off", vmSubject(),
			[]string{"<ctrl+u>", "worker-e", "<right>", "<ctrl+s>"},
			inject(api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Names: []string{"worker-east-1"}}}),
			"vsphere-sandbox fault inject vm.power-off worker-east-1",
		},
		{
			"all", "vm.power-off",
			api.Subject{},
			[]string{"all", "<ctrl+s>"},
			inject(api.InjectRequest{Fault: "vm.power-off", Mode: "all"}),
			"vsphere-sandbox fault inject vm.power-off --mode all",
		},
		{
			"half of a zone", "vm.power-off",
			api.Subject{},
			[]string{"zo", "<right>", "us-e", "<right>", "<down>", "<left>", "<up>", "<ctrl+s>"},
			inject(api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Zone: "us-east"}, Mode: "50%"}),
			"vsphere-sandbox fault inject vm.power-off --zone us-east --mode 50%",
		},
		{
			"one that is drawn", "vm.power-off",
			api.Subject{},
			[]string{"<tab>", "one", "<ctrl+s>"},
			inject(api.InjectRequest{Fault: "vm.power-off", Mode: "one"}),
			"vsphere-sandbox fault inject vm.power-off --mode one",
		},
		{
			"not said which", "vm.power-off",
			api.Subject{},
			[]string{"<ctrl+s>"},
			intent.Say{Text: "target: say which of 6: names, zone=…, or all", Bad: true},
			"vsphere-sandbox fault inject vm.power-off",
		},
		{
			"parameters", "vcenter.soap-fault",
			api.Subject{Kind: "vcenter", VCenter: "us", Name: "us"},
			[]string{"<shift+tab>", "3", "<ctrl+s>"},
			inject(api.InjectRequest{Fault: "vcenter.soap-fault", On: api.Selector{Names: []string{"us"}}, Params: map[string]string{"count": "3"}}),
			"vsphere-sandbox fault inject vcenter.soap-fault us --set count=3",
		},
		{
			"a choice", "disk.attach-refused", vmSubject(),
			[]string{"<shift+tab>", "<right>", "<ctrl+s>"},
			inject(api.InjectRequest{Fault: "disk.attach-refused", On: api.Selector{Names: []string{"worker-west-1"}}, Params: map[string]string{"answer": "no-free-slot"}}),
			"vsphere-sandbox fault inject disk.attach-refused worker-west-1 --set answer=no-free-slot",
		},
		{
			"no choice", "disk.attach-refused", vmSubject(),
			[]string{"<shift+tab>", "no-fre-slot", "<ctrl+s>"},
			intent.Say{Text: `answer: "no-fre-slot" is none of file-locked, no-free-slot, invalid-state; did you mean "no-free-slot"?`, Bad: true},
			"vsphere-sandbox fault inject disk.attach-refused worker-west-1 --set answer=no-fre-slot",
		},
		{
			"the default, written", "vm.crash-loop", vmSubject(),
			[]string{"<shift+tab>", "10s", "<ctrl+s>"},
			inject(api.InjectRequest{Fault: "vm.crash-loop", On: api.Selector{Names: []string{"worker-west-1"}}}),
			"vsphere-sandbox fault inject vm.crash-loop worker-west-1",
		},
		{
			"the whole sandbox", "ccm.killed",
			api.Subject{},
			[]string{"<ctrl+s>"},
			inject(api.InjectRequest{Fault: "ccm.killed"}), "vsphere-sandbox fault inject ccm.killed",
		},
		{
			"a momentary one has no end", "vm.reset", vmSubject(),
			[]string{"<enter>", "<enter>"},
			inject(api.InjectRequest{Fault: "vm.reset", On: api.Selector{Names: []string{"worker-west-1"}}}),
			"vsphere-sandbox fault inject vm.reset worker-west-1",
		},
		{
			"nothing to ask", "nothing.to-ask",
			api.Subject{},
			[]string{"x", "<tab>", "<left>", "<pgup>", "<enter>"},
			inject(api.InjectRequest{Fault: "nothing.to-ask"}), "vsphere-sandbox fault inject nothing.to-ask",
		},
		{
			"a name with a space", "vm.power-off",
			api.Subject{},
			[]string{"'my vm' w*", "<ctrl+s>"},
			inject(api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Names: []string{"my vm", "w*"}}}),
			"vsphere-sandbox fault inject vm.power-off 'my vm' 'w*'",
		},
		{"closed", "vm.power-off", vmSubject(), []string{"<esc>"}, intent.Back{}, "vsphere-sandbox fault inject vm.power-off worker-west-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := form(t, tt.kind, tt.subject)
			if d := cmp.Diff(tt.want, write(f, tt.keys...)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			f.SetSize(200, 40)
			if view := ansi.Strip(f.View()); !strings.Contains(view, "$ "+tt.line+" ") {
				t.Errorf("no %q:\n%s", tt.line, view)
			}
		})
	}
}

// A form has all letters, and leaves the one way out to the root model.
func TestFormKeys(t *testing.T) {
	f := form(t, "vm.power-off", vmSubject())
	if !f.Typing() {
		t.Error("letters are not for it")
	}
	for _, k := range []string{"?", ":", "/", "1", "q", "l", "tab", "f1"} {
		if _, ok := tuitest.Press(f.Handle, k); !ok {
			t.Errorf("%s is not taken", k)
		}
	}
	if _, ok := tuitest.Press(f.Handle, "ctrl+c"); ok {
		t.Error("ctrl+c is taken")
	}
	for _, b := range f.Bindings() {
		for _, k := range b.Keys() {
			if _, ok := tuitest.Press(f.Handle, k); !ok {
				t.Errorf("%s is bound and not taken", k)
			}
		}
	}
}

func TestFormPasteAndName(t *testing.T) {
	f := form(t, "vm.power-off", api.Subject{})
	f.Sandbox = "lab"
	f.Paste("worker-eu-1\n")
	if view := ansi.Strip(f.View()); !strings.Contains(view, "$ vsphere-sandbox --name lab fault inject vm.power-off worker-eu-1") {
		t.Errorf("it is not there:\n%s", view)
	}
	form(t, "nothing.to-ask", api.Subject{}).Paste("nowhere to go")
}

func BenchmarkForm(b *testing.B) {
	s := tuitest.Big(1000)
	f := NewForm(kindOf(b, "vm.power-off"), api.Subject{}, s)
	f.SetSize(84, 20)
	write(f, "worker-w")
	for b.Loop() {
		f.SetState(s)
		_ = f.View()
	}
}
