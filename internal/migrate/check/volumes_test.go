package check

import (
	"errors"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// A datastore that two datacenters mount is one place; two that have its name are two.
func TestFound(t *testing.T) {
	d := &disk{vcenters: []string{"us"}}
	d.found("us", datastore{url: "ds:///1/", datacenter: "/a"})
	d.found("us", datastore{url: "ds:///1/", datacenter: "/b"})
	if vc, state := d.state(); vc != "us" || state != "found" || len(d.at) != 1 {
		t.Errorf("mounted twice: %s %s, at %q", vc, state, d.at)
	}
	d.found("us", datastore{url: "ds:///2/", datacenter: "/b"})
	d.found("eu", datastore{url: "ds:///2/", datacenter: "/b"})
	if len(d.at) != 3 {
		t.Errorf("at %q", d.at)
	}
}

// A datastore that could not be read is not one that no vCenter has.
func TestUnsearched(t *testing.T) {
	ref := types.ManagedObjectReference{Type: "Datastore", Value: "datastore-1"}
	c := &run{report: &Report{Volumes: []Volume{{Path: "[ds] kubevols/a.vmdk"}, {Path: "[other] kubevols/a.vmdk"}, {Path: "ds"}}}}
	c.unsearched(&seen{name: "us", tree: inventory.Tree{ref: {Name: "ds"}}}, []types.ManagedObjectReference{ref}, errors.New("no answer"))
	if vc, state := c.disk("ds", "kubevols/a.vmdk").state(); vc != "us" || state != "unknown: ds: no answer" {
		t.Errorf("%s %s", vc, state)
	}
	if len(c.disks) != 1 {
		t.Errorf("%d disks", len(c.disks))
	}
}
