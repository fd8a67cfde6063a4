package corrections

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

func TestTaskSaysWhatAndWhy(t *testing.T) {
	for _, tc := range []struct {
		name           string
		without        []stock.Behavior
		entity, reason string
	}{
		{"corrected", nil, "", "The attempted operation cannot be performed in the current state (Powered off)."},
		{"stock", []stock.Behavior{stock.Tasks}, "vm-", "*types.InvalidPowerState"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := start(t, tc.without...)
			vm := v.vms()[0]
			if tc.entity == "" {
				tc.entity = vm.Name()
			}
			ctx := t.Context()
			var last *object.Task
			for range 2 { // it is off the second time
				task, err := vm.PowerOff(ctx)
				if err != nil {
					t.Fatal(err)
				}
				_ = task.Wait(ctx)
				last = task
			}
			var got mo.Task
			if err := property.DefaultCollector(v.client).RetrieveOne(ctx, last.Reference(), []string{"info"}, &got); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got.Info.EntityName, tc.entity) {
				t.Errorf("entity %q, want %q", got.Info.EntityName, tc.entity)
			}
			if got.Info.Error == nil || got.Info.Error.LocalizedMessage != tc.reason {
				t.Errorf("error %+v, want %q", got.Info.Error, tc.reason)
			}
		})
	}
}

func TestFaultStrings(t *testing.T) {
	fault := func(text, name, detail string) string {
		return `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` +
			`<soapenv:Body><soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>` + text + `</faultstring><detail><` +
			name + `Fault xmlns="urn:vim25" xsi:type="` + name + `">` + detail + `</` + name + `Fault></detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>`
	}
	const duplicate = `<name>a&lt;b</name><object type="Folder">f</object>`
	for _, tc := range []struct {
		name, body, want string
		status           int
	}{
		{
			"a type's name", fault("DuplicateName", "DuplicateName", duplicate),
			fault("The name &#39;a&lt;b&#39; already exists.", "DuplicateName", duplicate), 500,
		},
		{"nothing", fault("", "NotFound", ""), fault("The object or item referred to could not be found.", "NotFound", ""), 500},
		{"words of its own", fault("no", "NotFound", ""), fault("no", "NotFound", ""), 500},
		{
			"a fault without words", fault("IORMNotSupportedHostOnDatastore", "IORMNotSupportedHostOnDatastore", ""),
			fault("IORM not supported host on datastore.", "IORMNotSupportedHostOnDatastore", ""), 500,
		},
		{"no fault", "<faultstring>x</faultstring>", "<faultstring>x</faultstring>", 500},
		{"cut off", "<faultstring>x", "<faultstring>x", 500},
		{"an answer", fault("NotFound", "NotFound", ""), fault("NotFound", "NotFound", ""), 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := FaultStrings(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body[:5]))
				_, _ = w.Write([]byte(tc.body[5:]))
			}))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/sdk", nil))
			if w.Code != tc.status || w.Body.String() != tc.want {
				t.Errorf("%d\n%s\nwant %d\n%s", w.Code, w.Body, tc.status, tc.want)
			}
		})
	}
}

func TestFinishedTasksGo(t *testing.T) {
	v := start(t)
	vm := v.vms()[0]
	j := v.corrections.retention
	change := func() {
		if err := finish(t.Context(), func() (*object.Task, error) {
			return vm.Reconfigure(t.Context(), types.VirtualMachineConfigSpec{Annotation: "x"})
		}); err != nil {
			t.Fatal(err)
		}
	}
	change()
	j.mu.Lock()
	for i := range j.finished {
		j.finished[i].at = time.Now().Add(-2 * taskLife)
	}
	old := len(j.finished)
	j.mu.Unlock()
	if old == 0 {
		t.Fatal("no finished task was noted")
	}
	change() // whose end makes it run
	j.work.Wait()
	left := v.base.Map.AllReference("Task")
	var m mo.VirtualMachine
	if err := vm.Properties(t.Context(), vm.Reference(), []string{"recentTask"}, &m); err != nil {
		t.Fatal(err)
	}
	for _, ref := range m.RecentTask {
		if v.base.Map.Get(ref) == nil {
			t.Errorf("recentTask has %s, which is gone", ref)
		}
	}
	if len(m.RecentTask) != 1 {
		t.Errorf("%d recent tasks of the VM, want the last one", len(m.RecentTask))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.finished) != 1 || len(left) < 1 {
		t.Errorf("%d finished tasks noted, %d in the registry; want the last one", len(j.finished), len(left))
	}
}

func TestTooManyTasksGo(t *testing.T) {
	if race.Enabled {
		t.Skip("vcsim writes an entity's recentTask without its lock: run it without -race, as make test does, too")
	}
	v := start(t)
	j := v.corrections.retention
	vm := v.vms()[0]
	for range maxTasks + maxTasks/10 + 2 {
		if _, err := vm.Rename(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := finish(t.Context(), func() (*object.Task, error) { return vm.Rename(t.Context(), "y") }); err != nil {
		t.Fatal(err)
	}
	j.work.Wait()
	if n := len(v.base.Map.AllReference("Task")); n > maxTasks+maxTasks/10+10 {
		t.Errorf("%d tasks are kept", n)
	}
}

func TestCollectorsOfEndedSessionsGo(t *testing.T) {
	v := start(t)
	make32 := func() error {
		for range 32 {
			_, err := v.eventCollector()
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := make32(); err != nil {
		t.Fatal(err)
	}
	if err := make32(); err == nil {
		t.Fatal("vcsim's limit is gone: this test proves nothing any more")
	}
	for key := range v.corrections.collectors.sessions {
		v.corrections.EndSession(v.base, key)
	}
	if err := make32(); err != nil {
		t.Errorf("after the session's end: %v", err)
	}
}

func TestEventsHaveMessages(t *testing.T) {
	v := start(t)
	vm := v.vms()[0]
	for _, step := range []func() (*object.Task, error){
		func() (*object.Task, error) { return vm.PowerOn(t.Context()) },
		func() (*object.Task, error) { return vm.Suspend(t.Context()) },
		func() (*object.Task, error) { return vm.PowerOn(t.Context()) },
		func() (*object.Task, error) { return vm.PowerOff(t.Context()) },
		func() (*object.Task, error) { return vm.Destroy(t.Context()) },
	} {
		if err := finish(t.Context(), step); err != nil {
			t.Fatal(err)
		}
	}
	for _, ref := range []string{"/F0/DC0/network/F0/DVS0", "/F0/DC0/host/F0/DC0_H0"} {
		_ = v.destroy(v.ref(ref)) // it may be in use
	}
	all, err := v.events()
	if err != nil || len(all) < 10 {
		t.Fatalf("%d events, %v", len(all), err)
	}
	for _, e := range all {
		if e.GetEvent().FullFormattedMessage == "" {
			t.Errorf("%T has no message", e)
		}
	}
}

func TestSnapshotsGoWithTheirVM(t *testing.T) {
	v := start(t)
	vm := v.vms()[0]
	for _, f := range []func() (*object.Task, error){
		func() (*object.Task, error) { return vm.CreateSnapshot(t.Context(), "a", "", false, false) },
		func() (*object.Task, error) { return vm.CreateSnapshot(t.Context(), "b", "", false, false) },
	} {
		if err := finish(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(v.base.Map.AllReference("VirtualMachineSnapshot")); n != 2 {
		t.Fatalf("%d snapshots", n)
	}
	if err := v.destroy(vm.Reference()); err != nil {
		t.Fatal(err)
	}
	if n := len(v.base.Map.AllReference("VirtualMachineSnapshot")); n != 0 {
		t.Errorf("%d snapshots are left", n)
	}
}
