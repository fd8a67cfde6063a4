package gate_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

func TestFaultIsTyped(t *testing.T) {
	v := newVCenter(t)
	c := v.login(t, "govc/1")
	other := v.login(t, "csi/1")
	vm, second := v.vms(t, c)
	ref := vm.Reference()
	id := v.add(t, gate.Rule{
		Match: gate.Match{Client: "govc*", Methods: []string{"PowerOn*"}, Object: gate.Object{Type: "VirtualMachine", Ref: ref.Value}},
		Action: gate.Fault{Type: "NoPermission", Message: `not <you> & "me"`, Fields: map[string]any{
			"object": map[string]any{"type": ref.Type, "value": ref.Value}, "privilegeId": "VirtualMachine.Interact.PowerOn",
		}},
	})
	err := power(t.Context(), vm)
	if !soap.IsSoapFault(err) {
		t.Fatalf("err = %v", err)
	}
	got := soap.ToSoapFault(err)
	want := types.NoPermission{Object: &ref, PrivilegeId: "VirtualMachine.Interact.PowerOn"}
	if diff := cmp.Diff(types.AnyType(want), got.VimFault()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.String != `not <you> & "me"` || got.Code != "ServerFaultCode" {
		t.Errorf("fault %+v", got)
	}
	for name, err := range map[string]error{
		"another client": power(t.Context(), object.NewVirtualMachine(other.Client, ref)), "another object": power(t.Context(), second),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := v.status(t, id); s.Hits != 1 || s.Matched != 1 {
		t.Errorf("%+v", s)
	}
	v.remove(t, id)
	if task, err := vm.PowerOff(t.Context()); err != nil || task.Wait(t.Context()) != nil {
		t.Errorf("after the rule: %v", err)
	}
	if err := v.Remove(t.Context(), id); !errors.Is(err, gate.ErrNoRule) {
		t.Errorf("removed twice: %v", err)
	}
}

// Faults of all families arrive as what they are.
func TestFaultFamilies(t *testing.T) {
	v := newVCenter(t)
	c := v.login(t, "govc/1")
	for _, tc := range []gate.Fault{
		{Type: "NotAuthenticated"},
		{Type: "CnsVolumeNotFoundFault", Fields: map[string]any{"volumeId": map[string]any{"id": "v-1"}}},
		{Type: "PbmFault"},
		{Type: "InvalidArgument", Fields: map[string]any{"invalidProperty": "spec"}},
		{Type: "ManagedObjectNotFound", Fields: map[string]any{"obj": map[string]any{"type": "VirtualMachine", "value": "vm-1"}}},
		{Type: "TaskInProgress", Fields: map[string]any{"task": map[string]any{"type": "Task", "value": "task-1"}}},
	} {
		t.Run(tc.Type, func(t *testing.T) {
			id := v.add(t, gate.Rule{Match: gate.Match{Methods: []string{"CurrentTime"}}, Action: tc})
			defer v.remove(t, id)
			_, err := methods.GetCurrentTime(t.Context(), c)
			if !soap.IsSoapFault(err) {
				t.Fatalf("err = %v", err)
			}
			got := soap.ToSoapFault(err).VimFault()
			if name := strings.TrimPrefix(typeName(got), "types."); name != tc.Type {
				t.Errorf("got %s, %+v", name, got)
			}
			if calls := v.Recent(); calls[len(calls)-1].Fault != tc.Type {
				t.Errorf("recorded as %+v", calls[len(calls)-1])
			}
		})
	}
}

func TestFailTask(t *testing.T) {
	v := newVCenter(t)
	c := v.login(t, "csi")
	vm, second := v.vms(t, c)
	v.add(t, gate.Rule{
		Name:   "locked",
		Match:  gate.Match{Object: gate.Object{Name: v.name(vm.Reference())}},
		Action: gate.FailTask{After: 50 * time.Millisecond, Fault: gate.Fault{Type: "FileLocked", Fields: map[string]any{"file": "[ds] x"}}},
	})
	start := time.Now()
	task, err := vm.PowerOn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = task.Wait(t.Context())
	var failed interface{ Fault() types.BaseMethodFault }
	if !errors.As(err, &failed) {
		t.Fatalf("err = %v", err)
	}
	locked, ok := failed.Fault().(*types.FileLocked)
	if !ok || locked.File != "[ds] x" {
		t.Errorf("the task failed with %#v", failed.Fault())
	}
	if d := time.Since(start); d < 50*time.Millisecond {
		t.Errorf("after %s", d)
	}
	var mvm mo.VirtualMachine
	if err := vm.Properties(t.Context(), vm.Reference(), []string{"runtime.powerState"}, &mvm); err != nil || mvm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
		t.Errorf("the VM is %s, %v", mvm.Runtime.PowerState, err)
	}
	if err := power(t.Context(), second); err != nil {
		t.Errorf("another VM: %v", err)
	}
}

func TestDropSession(t *testing.T) {
	v := newVCenter(t)
	c := v.login(t, "csi")
	other := v.login(t, "cpi")
	id := v.add(t, gate.Rule{Match: gate.Match{User: "ALI*", Client: "csi"}, Action: gate.DropSession{}, Count: 1})
	vm, _ := v.vms(t, c)
	if _, err := vm.PowerState(t.Context()); !fault.Is(err, &types.NotAuthenticated{}) {
		t.Errorf("err = %v", err)
	}
	if key := <-v.dropped; key == "" {
		t.Error("no session was dropped")
	}
	if _, err := object.NewVirtualMachine(other.Client, vm.Reference()).PowerState(t.Context()); err != nil {
		t.Errorf("another client: %v", err)
	}
	if s := v.status(t, id); s.State != gate.Spent || s.Hits != 1 {
		t.Errorf("%+v", s)
	}
}

func TestSessionAndObjectsInArguments(t *testing.T) {
	v := newVCenter(t)
	c, twin := v.login(t, "same"), v.login(t, "same")
	vm, second := v.vms(t, c)
	us, err := c.SessionManager.UserSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v.add(t, gate.Rule{
		Match:  gate.Match{Session: us.Key, Object: gate.Object{Type: "VirtualMachine", Name: v.name(vm.Reference())}},
		Action: gate.Fault{Type: "ManagedObjectNotFound"},
	})
	// A retrieval names the VM in its arguments.
	if _, err := vm.PowerState(t.Context()); !soap.IsSoapFault(err) {
		t.Errorf("err = %v", err)
	}
	if _, err := second.PowerState(t.Context()); err != nil {
		t.Errorf("another VM: %v", err)
	}
	if _, err := object.NewVirtualMachine(twin.Client, vm.Reference()).PowerState(t.Context()); err != nil {
		t.Errorf("another session: %v", err)
	}
}

func TestRESTError(t *testing.T) {
	v := newVCenter(t)
	c := v.login(t, "cpi")
	r := v.loginREST(t, c)
	m := tags.NewManager(r)
	vm, second := v.vms(t, c)
	id := v.add(t, gate.Rule{
		Match:  gate.Match{Methods: []string{"/rest/com/vmware/cis/tagging/*"}, Object: gate.Object{Ref: vm.Reference().Value}},
		Action: gate.RESTError{Type: "SERVICE_UNAVAILABLE"},
	})
	if _, err := m.GetAttachedTags(t.Context(), vm); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("err = %v", err)
	}
	if _, err := m.GetAttachedTags(t.Context(), second); err != nil {
		t.Errorf("another object: %v", err)
	}
	if _, err := vm.PowerState(t.Context()); err != nil {
		t.Errorf("SOAP: %v", err)
	}
	v.remove(t, id)
	v.add(t, gate.Rule{Action: gate.RESTError{Type: "NOT_FOUND", Message: "no such tag"}})
	for path, want := range map[string]string{
		"/rest/com/vmware/cis/tagging/tag": `{"type":"com.vmware.vapi.std.errors.not_found","value":{"messages":[` +
			`{"id":"vsphere-sandbox.gate.not_found","default_message":"no such tag","args":[]}]}}`,
		"/api/cis/tagging/tag": `{"error_type":"NOT_FOUND","messages":[{"id":"vsphere-sandbox.gate.not_found","default_message":"no such tag","args":[]}]}`,
	} {
		res, err := v.client.Get("https://" + v.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if diff := cmp.Diff(want, string(body)); diff != "" || res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d, -want +got:\n%s", path, res.StatusCode, diff)
		}
	}
}

func TestHTTPStatus(t *testing.T) {
	v := newVCenter(t)
	c := v.login(t, "cpi")
	v.add(t, gate.Rule{Match: gate.Match{Transport: gate.SOAP}, Action: gate.HTTPStatus{Code: 503, Body: "no healthy upstream"}})
	if _, err := methods.GetCurrentTime(t.Context(), c); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("err = %v", err)
	}
	v.loginREST(t, c)
}

func TestReset(t *testing.T) {
	v := newVCenter(t)
	c := v.login(t, "cpi")
	vm, _ := v.vms(t, c)
	v.add(t, gate.Rule{Match: gate.Match{Methods: []string{"PowerOnVM_Task"}}, Action: gate.Reset{Bytes: 100}, Count: 1})
	_, err := vm.PowerOn(t.Context())
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("err = %v", err)
	}
	// It was done all the same.
	soon(t, "the VM is on", func() bool {
		s, err := vm.PowerState(t.Context())
		return err == nil && s == types.VirtualMachinePowerStatePoweredOn
	})
	last := v.Recent()
	for _, call := range last {
		if call.Method == "PowerOnVM_Task" && (call.Out != 100 || call.Status != 200 || !call.Hit) {
			t.Errorf("recorded as %+v", call)
		}
	}
}
