package sim_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

func hostUUID(t *testing.T, c *govmomi.Client, ref types.ManagedObjectReference) string {
	t.Helper()
	var h mo.HostSystem
	get(t, c, ref, &h, "hardware.systemInfo.uuid")
	return h.Hardware.SystemInfo.Uuid
}

func get(t testing.TB, c *govmomi.Client, ref types.ManagedObjectReference, dst any, paths ...string) {
	t.Helper()
	if err := property.DefaultCollector(c.Client).RetrieveOne(t.Context(), ref, paths, dst); err != nil {
		t.Fatal(err)
	}
}

func vm(t testing.TB, c *govmomi.Client, path string) *object.VirtualMachine {
	t.Helper()
	vm, err := find.NewFinder(c.Client, true).VirtualMachine(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

func ref(t testing.TB, c *govmomi.Client, path string) types.ManagedObjectReference {
	t.Helper()
	all, err := find.NewFinder(c.Client, true).ManagedObjectList(t.Context(), path)
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: %d objects, %v", path, len(all), err)
	}
	return all[0].Object.Reference()
}

// finish waits for a task and returns its error.
func finish(t testing.TB) func(*object.Task, error) error {
	return func(task *object.Task, err error) error {
		if err != nil {
			return err
		}
		return task.Wait(t.Context())
	}
}

// must is finish for tasks that are expected to succeed.
func must(t testing.TB) func(*object.Task, error) {
	return func(task *object.Task, err error) {
		t.Helper()
		if err := finish(t)(task, err); err != nil {
			t.Fatal(err)
		}
	}
}

// await follows a VM by a property watch until ok says so, and returns it.
func await(t testing.TB, c *govmomi.Client, ref types.ManagedObjectReference, paths []string, ok func(mo.VirtualMachine) bool) mo.VirtualMachine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var now mo.VirtualMachine
	err := property.Wait(ctx, property.DefaultCollector(c.Client), ref, paths, func([]types.PropertyChange) bool {
		var fresh mo.VirtualMachine
		get(t, c, ref, &fresh, paths...)
		now = fresh
		return ok(now)
	})
	if err != nil {
		t.Fatalf("waiting: %v; guest %+v", err, now.Guest)
	}
	return now
}

// eventsOf waits until the log has an event of that kind about the VM after the given place, and returns all about it.
func (s *sandbox) eventsOf(t testing.TB, vm, until string, after uint64) []event.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var all []event.Event
	for {
		events, _, err := s.events.Wait(ctx, after, 0)
		if err != nil {
			t.Fatalf("no %s of %s: %v; have %+v", until, vm, err, all)
		}
		for _, e := range events {
			after = e.Seq
			if e.Object.Name != vm {
				continue
			}
			all = append(all, e)
			if e.Kind == until {
				return all
			}
		}
	}
}

func retrieve(t testing.TB, c *govmomi.Client, ref types.ManagedObjectReference, dst *[]mo.VirtualMachine, paths ...string) error {
	t.Helper()
	return property.DefaultCollector(c.Client).Retrieve(t.Context(), []types.ManagedObjectReference{ref}, paths, dst)
}

// faultOf names the fault of an error, of a call or of a task.
func faultOf(err error) string {
	var task interface{ Fault() types.BaseMethodFault }
	switch {
	case err == nil:
		return "none"
	case soap.IsSoapFault(err):
		return fmt.Sprintf("%T", soap.ToSoapFault(err).VimFault())
	case errors.As(err, &task):
		return fmt.Sprintf("%T", task.Fault())
	}
	return fmt.Sprintf("%T", err)
}
