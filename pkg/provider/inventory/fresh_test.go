package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// zoneOf expects a zone of a VM.
func (w *world) zoneOf(host string, want inventory.Zone) func() error {
	return func() error {
		vm, err := w.ByHostName(host).One()
		if err != nil {
			return err
		}
		z, err := w.Zone(vm)
		if err == nil && z != want {
			err = fmt.Errorf("got %v", z)
		}
		return err
	}
}

func (w *world) datacenter(t testing.TB, vcenter, path string) *object.Datacenter {
	t.Helper()
	dc, err := find.NewFinder(w.admin(t, vcenter)).Datacenter(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return dc
}

// Changes of power and tags are soon in the index, although the timer reads tags only every five minutes. The benchmark measures
// how soon.
func TestFreshness(t *testing.T) {
	w := start(t, func(_ *world, cfg *inventory.Config) { cfg.TagMissInterval = 0 })
	w.synced(t)
	eventually(t, "events are followed", func() error {
		if s := w.Status(); !s[0].TagEvents || !s[1].TagEvents {
			return errors.New("not yet")
		}
		return nil
	})
	m := w.tagger(t, "eu")
	dc := w.datacenter(t, "eu", "/dc")
	for range 3 {
		create := func(name string) string {
			id, err := m.CreateTag(t.Context(), &tags.Tag{Name: name, CategoryID: "k8s-zone"})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		old, err := m.GetTagForCategory(t.Context(), "eu-all", "k8s-zone")
		if err != nil {
			t.Fatal(err)
		}
		fresh := create("eu-new")
		if err := m.DetachTag(t.Context(), old.ID, dc); err != nil {
			t.Fatal(err)
		}
		if err := m.AttachTag(t.Context(), fresh, dc); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the tag attached", w.zoneOf("eu1", inventory.Zone{Region: "eu", Zone: "eu-new"}))
		if err := m.AttachTag(t.Context(), old.ID, dc); err == nil {
			t.Error("two tags of a category that allows one")
		}
		if err := m.DetachTag(t.Context(), fresh, dc); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the tag detached", func() error {
			if err := w.zoneOf("eu1", inventory.Zone{})(); !errors.As(err, new(*inventory.MissingTagError)) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		})
		if err := m.AttachTag(t.Context(), old.ID, dc); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the tag attached again", w.zoneOf("eu1", inventory.Zone{Region: "eu", Zone: "eu-all"}))
		if err := m.DeleteTag(t.Context(), &tags.Tag{ID: fresh}); err != nil {
			t.Fatal(err)
		}

		power := func(want types.VirtualMachinePowerState) func() error {
			return func() error {
				if vm, err := w.ByUUID(uuid(t, w1UUID)).One(); err != nil || vm.Power != want {
					return fmt.Errorf("%v, %w", vm, err)
				}
				return nil
			}
		}
		w.do(t, "us", "/americas/west/vm/w1", (*object.VirtualMachine).PowerOff)
		eventually(t, "power off", power(types.VirtualMachinePowerStatePoweredOff))
		w.do(t, "us", "/americas/west/vm/w1", (*object.VirtualMachine).PowerOn)
		eventually(t, "power on", power(types.VirtualMachinePowerStatePoweredOn))
	}
}

// BenchmarkFreshness measures the time from a change at a vCenter until the index has it, including the call that makes it.
func BenchmarkFreshness(b *testing.B) {
	w := start(b, nil)
	w.synced(b)
	eventually(b, "events are followed", func() error {
		if !w.Status()[1].TagEvents {
			return errors.New("not yet")
		}
		return nil
	})
	b.Run("power", func(b *testing.B) {
		do := map[bool]func(*object.VirtualMachine, context.Context) (*object.Task, error){
			false: (*object.VirtualMachine).PowerOff, true: (*object.VirtualMachine).PowerOn,
		}
		want := map[bool]types.VirtualMachinePowerState{
			false: types.VirtualMachinePowerStatePoweredOff, true: types.VirtualMachinePowerStatePoweredOn,
		}
		on := true
		for b.Loop() {
			on = !on
			w.do(b, "us", "/americas/west/vm/w1", do[on])
			eventually(b, "power", func() error {
				if vm, err := w.ByUUID(uuid(b, w1UUID)).One(); err != nil || vm.Power != want[on] {
					return fmt.Errorf("%v, %w", vm, err)
				}
				return nil
			})
		}
		if !on {
			w.do(b, "us", "/americas/west/vm/w1", (*object.VirtualMachine).PowerOn)
		}
	})
	b.Run("tag", func(b *testing.B) {
		m, dc := w.tagger(b, "eu"), w.datacenter(b, "eu", "/dc")
		tag, err := m.GetTagForCategory(b.Context(), "eu-all", "k8s-zone")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := m.DetachTag(b.Context(), tag.ID, dc); err != nil {
				b.Fatal(err)
			}
			eventually(b, "tag detached", func() error {
				if err := w.zoneOf("eu1", inventory.Zone{})(); !errors.As(err, new(*inventory.MissingTagError)) {
					return fmt.Errorf("got %w", err)
				}
				return nil
			})
			if err := m.AttachTag(b.Context(), tag.ID, dc); err != nil {
				b.Fatal(err)
			}
			eventually(b, "tag attached", w.zoneOf("eu1", inventory.Zone{Region: "eu", Zone: "eu-all"}))
		}
	})
}

// The timer finds what no event reports: renamed and deleted tags and categories.
func TestTagsWithoutEvents(t *testing.T) {
	w := start(t, func(_ *world, cfg *inventory.Config) { cfg.TagRefresh = 30 * time.Millisecond })
	w.synced(t)
	m := w.tagger(t, "eu")
	dc := w.datacenter(t, "eu", "/dc")
	tag, err := m.GetTagForCategory(t.Context(), "eu-all", "k8s-zone")
	if err != nil {
		t.Fatal(err)
	}
	category, err := m.GetCategory(t.Context(), "k8s-zone")
	if err != nil {
		t.Fatal(err)
	}
	zone := func(name string) func() error { return w.zoneOf("eu1", inventory.Zone{Region: "eu", Zone: name}) }
	eventually(t, "zone", zone("eu-all"))

	tag.Name = "eu-renamed"
	if err := m.UpdateTag(t.Context(), tag); err != nil {
		t.Fatal(err)
	}
	eventually(t, "tag renamed", zone("eu-renamed"))

	rename := func(name string) {
		t.Helper()
		category.Name = name
		if err := m.UpdateCategory(t.Context(), category); err != nil {
			t.Fatal(err)
		}
	}
	rename("other")
	eventually(t, "category renamed away", func() error {
		if err := w.Status()[1].TagsErr; err == nil {
			return errors.New("no error")
		}
		return nil
	})
	// The previous state stays in use.
	if err := zone("eu-renamed")(); err != nil {
		t.Error(err)
	}
	rename("k8s-zone")
	eventually(t, "category renamed back", func() error { return w.Status()[1].TagsErr })

	second, err := m.CreateTag(t.Context(), &tags.Tag{Name: "eu-second", CategoryID: category.ID})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.DeleteTag(t.Context(), tag); err != nil {
		t.Fatal(err)
	}
	eventually(t, "tag deleted", func() error {
		var missing *inventory.MissingTagError
		if err := zone("")(); !errors.As(err, &missing) || missing.Found.Region != "eu" {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	if err := m.AttachTag(t.Context(), second, dc); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another tag", zone("eu-second"))

	// A category that was deleted and created again has another identifier.
	if err := m.DeleteCategory(t.Context(), category); err != nil {
		t.Fatal(err)
	}
	again, err := m.CreateCategory(t.Context(), &tags.Category{Name: "k8s-zone", Cardinality: "SINGLE", AssociableTypes: []string{"Datacenter"}})
	if err != nil {
		t.Fatal(err)
	}
	third, err := m.CreateTag(t.Context(), &tags.Tag{Name: "eu-third", CategoryID: again})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.AttachTag(t.Context(), third, dc); err != nil {
		t.Fatal(err)
	}
	eventually(t, "category made again", zone("eu-third"))
}

// If a vCenter denies events, the timer reads the tags, with no other difference.
func TestEventsRefused(t *testing.T) {
	w := start(t, func(w *world, _ *inventory.Config) { w.refuse(t, "us", "CreateCollectorForEvents") })
	w.synced(t)
	if err := w.zoneOf("w1", inventory.Zone{Region: "us", Zone: "us-west"})(); err != nil {
		t.Error(err)
	}
	if w.Status()[0].TagEvents {
		t.Error("events are followed")
	}
	eventually(t, "events of the other vCenter", func() error {
		if !w.Status()[1].TagEvents {
			return errors.New("not followed")
		}
		return nil
	})
}

// refuse makes a vCenter answer a method with a fault.
func (w *world) refuse(t *testing.T, vcenter, method string) {
	t.Helper()
	rule := gate.Rule{Match: gate.Match{Methods: []string{method}}, Action: gate.Fault{Type: "NoPermission"}}
	if _, err := w.vcenter(t, vcenter).Gate().Add(rule); err != nil {
		t.Fatal(err)
	}
}
