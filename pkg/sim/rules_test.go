package sim_test

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// rule puts a rule in force for the time of the test, or until the function that it returns is called.
func rule(t *testing.T, v *sim.VCenter, r gate.Rule) (status func() gate.Status, remove func()) {
	t.Helper()
	id, err := v.Gate().Add(r)
	if err != nil {
		t.Fatal(err)
	}
	status = func() gate.Status {
		for _, s := range v.Gate().Rules() {
			if s.ID == id {
				return s
			}
		}
		t.Fatal("the rule is gone")
		return gate.Status{}
	}
	return status, func() {
		if err := v.Gate().Remove(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}

func TestRuleFailsTasksOfOneUserOnOneVM(t *testing.T) {
	lab := sim.Start(t, guarded)
	v, _ := lab.VCenter("vc")
	boss, cpi := lab.Client("vc"), lab.ClientAs("vc", "cpi@vsphere.local", "secret of cpi")
	status, _ := rule(t, v, gate.Rule{
		Match:  gate.Match{User: "CPI@*", Object: gate.Object{Type: "VirtualMachine", Name: "west-?"}},
		Action: gate.FailTask{Fault: gate.Fault{Type: "FileLocked", Message: "the file is held", Fields: map[string]any{"file": "[ds] x"}}},
		Skip:   1,
	})
	west := vm(t, boss, "/west/vm/west-1")
	own := object.NewVirtualMachine(cpi.Client, west.Reference())
	if _, err := own.PowerOff(t.Context()); !fault.Is(err, new(types.NoPermission)) {
		t.Errorf("the call that is skipped: %v", err)
	}
	task, err := own.PowerOff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = task.Wait(t.Context())
	var failed interface{ Fault() types.BaseMethodFault }
	if !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if f, ok := failed.Fault().(*types.FileLocked); !ok || f.File != "[ds] x" || !strings.Contains(err.Error(), "the file is held") {
		t.Errorf("task failed with %#v, %v", failed.Fault(), err)
	}
	var got mo.Task
	get(t, boss, task.Reference(), &got, "info")
	if i := got.Info; i.Name != "PowerOffVM_Task" || i.EntityName != "west-1" || i.Entity == nil || *i.Entity != west.Reference() ||
		i.DescriptionId != "VirtualMachine.powerOffVM" || i.Key != task.Reference().Value || i.StartTime == nil || i.CompleteTime == nil {
		t.Errorf("task says %+v", got.Info)
	}
	must(t)(west.PowerOff(t.Context())) // of another vCenter
	if s := status(); s.Matched != 2 || s.Hits != 1 {
		t.Errorf("matched %d, hit %d", s.Matched, s.Hits)
	}
}

// TestFailingTaskIsInNobodysWay: a task that will fail holds up neither the VM nor the removal of others, can be
// canceled, and does not outlive its vCenter.
func TestFailingTaskBlocksNone(t *testing.T) {
	lab := sim.Start(t, guarded)
	v, _ := lab.VCenter("vc")
	boss := lab.Client("vc")
	_, remove := rule(t, v, gate.Rule{
		Match:  gate.Match{Methods: []string{"PowerOffVM_Task", "CnsAttachVolume"}},
		Action: gate.FailTask{After: time.Hour, Fault: gate.Fault{Type: "NoDiskSpace"}},
	})
	west := vm(t, boss, "/west/vm/west-1")
	first, err := west.PowerOff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := west.PowerOff(t.Context()); err != nil { // stays for as long as the vCenter does
		t.Fatal(err)
	}
	volumes, err := cns.NewClient(t.Context(), boss.Client)
	if err != nil {
		t.Fatal(err)
	}
	attach, err := volumes.AttachVolume(t.Context(), []cnstypes.CnsVolumeAttachDetachSpec{{Vm: west.Reference()}})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	remove()
	must(t)(west.PowerOff(t.Context()))
	must(t)(west.Destroy(t.Context()))
	if d := time.Since(begin); d > 30*time.Second {
		t.Errorf("power off and destroy took %s", d)
	}
	for _, task := range []*object.Task{first, attach} {
		if err := task.Cancel(t.Context()); err != nil {
			t.Errorf("cancel: %v", err)
		}
		if err := task.Wait(t.Context()); !fault.Is(err, new(types.RequestCanceled)) {
			t.Errorf("canceled task: %v", err)
		}
	}
}

func TestRuleAnswersWithFault(t *testing.T) {
	lab := sim.Start(t, guarded)
	v, _ := lab.VCenter("vc")
	boss := lab.Client("vc")
	west, other := vm(t, boss, "/west/vm/west-1"), vm(t, boss, "/west/vm/west-2")
	_, remove := rule(t, v, gate.Rule{
		Match:  gate.Match{Object: gate.Object{Name: "west-1"}},
		Action: gate.Fault{Type: "NoPermission", Fields: map[string]any{"privilegeId": "System.View"}},
	})
	if _, err := west.PowerState(t.Context()); !fault.Is(err, new(types.NoPermission)) {
		t.Errorf("west-1: %v", err)
	}
	if _, err := other.PowerState(t.Context()); err != nil {
		t.Errorf("west-2: %v", err)
	}
	must(t)(other.Rename(t.Context(), "elsewhere"))
	remove()
	must(t)(west.Rename(t.Context(), "renamed"))
	rule(t, v, gate.Rule{Match: gate.Match{Object: gate.Object{Name: "renamed"}}, Action: gate.Fault{Type: "NotFound"}})
	if _, err := west.PowerState(t.Context()); !fault.Is(err, new(types.NotFound)) {
		t.Errorf("by its new name: %v", err)
	}
}

// TestRuleDropsSessions counts sessions, not the calls of clients that find theirs gone and log in again.
func TestRuleDropsSessions(t *testing.T) {
	lab := sim.Start(t, guarded)
	v, _ := lab.VCenter("vc")
	boss := lab.Client("vc")
	status, _ := rule(t, v, gate.Rule{Match: gate.Match{User: v.User()}, Action: gate.DropSession{}, Count: 2})
	for range 2 {
		if _, err := methods.GetCurrentTime(t.Context(), boss); !fault.Is(err, new(types.NotAuthenticated)) {
			t.Fatalf("a dropped session: %v", err)
		}
		if _, err := methods.GetCurrentTime(t.Context(), boss); !fault.Is(err, new(types.NotAuthenticated)) {
			t.Fatalf("the call after: %v", err)
		}
		if err := boss.Login(t.Context(), account(v)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := methods.GetCurrentTime(t.Context(), boss); err != nil {
		t.Error(err)
	}
	if s := status(); s.State != gate.Spent || s.Hits != 2 {
		t.Errorf("rule is %s after %d hits", s.State, s.Hits)
	}
	if n := len(v.Sessions()); n != 1 {
		t.Errorf("%d sessions", n)
	}

	rc := lab.REST("vc")
	m := tags.NewManager(rc)
	rule(t, v, gate.Rule{Match: gate.Match{User: v.User(), Transport: gate.REST}, Action: gate.DropSession{}, Count: 1})
	if _, err := m.ListCategories(t.Context()); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("REST: %v", err)
	}
	if err := rc.Login(t.Context(), account(v)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.ListCategories(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRuleAnswersREST(t *testing.T) {
	lab := sim.Start(t, guarded)
	v, _ := lab.VCenter("vc")
	boss, m := lab.Client("vc"), tags.NewManager(lab.REST("vc"))
	west, east := ref(t, boss, "/west"), ref(t, boss, "/east")
	_, remove := rule(t, v, gate.Rule{
		Match:  gate.Match{Transport: gate.REST, Object: gate.Object{Name: "west"}},
		Action: gate.RESTError{Type: "SERVICE_UNAVAILABLE"},
	})
	if _, err := m.ListAttachedTags(t.Context(), west); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("west: %v", err)
	}
	if _, err := m.ListAttachedTags(t.Context(), east); err != nil {
		t.Errorf("east: %v", err)
	}
	remove()
	if _, err := m.ListAttachedTags(t.Context(), west); err != nil {
		t.Errorf("west without the rule: %v", err)
	}
}

func TestCertificateSwap(t *testing.T) {
	s := start(t, guarded, nil)
	v := s.vcenter(t, "vc")
	c := s.login(t, v)
	other := authority(t)
	pair, err := other.Sign(cert.Leaf{CommonName: "vc", IPs: cert127(v)})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Gate().SetCertificate(pair.TLS()); err != nil {
		t.Fatal(err)
	}
	if _, err := methods.GetCurrentTime(t.Context(), c); err != nil {
		t.Errorf("a connection that is open: %v", err)
	}
	v.Gate().CutConnections()
	c.CloseIdleConnections() // or the client may find out by writing to one
	var unknown *tls.CertificateVerificationError
	if _, err := methods.GetCurrentTime(t.Context(), c); !errors.As(err, &unknown) {
		t.Errorf("with a certificate of an unknown authority: %v", err)
	}
	s.ca = other
	again := s.login(t, v)
	if _, err := session.NewManager(again.Client).UserSession(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRulesOutliveAnOutage: rules are the gate's, and count on when it is up again.
func TestRulesOutliveAnOutage(t *testing.T) {
	lab := sim.Start(t, guarded)
	v, _ := lab.VCenter("vc")
	boss := lab.Client("vc")
	status, _ := rule(t, v, gate.Rule{
		Match:  gate.Match{Methods: []string{"CurrentTime"}},
		Action: gate.Fault{Type: "NotSupported"},
		Count:  2,
	})
	for range 2 {
		if _, err := methods.GetCurrentTime(t.Context(), boss); !fault.Is(err, new(types.NotSupported)) {
			t.Errorf("err = %v", err)
		}
		for _, state := range []gate.State{gate.Down, gate.Up} {
			if err := v.Gate().Set(t.Context(), gate.Mode{State: state}); err != nil {
				t.Fatal(err)
			}
		}
		boss.CloseIdleConnections() // or it may find out about the outage now only
	}
	if _, err := methods.GetCurrentTime(t.Context(), boss); err != nil {
		t.Errorf("after the rule: %v", err)
	}
	if s := status(); s.State != gate.Spent || s.Hits != 2 {
		t.Errorf("%+v", s)
	}
}
