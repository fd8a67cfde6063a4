package sandbox

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
)

// A VM is read from its vCenter with everything above it and the tags there.
func TestMachines(t *testing.T) {
	s := withVCenters(t, "zones-us-eu")
	vc := s.vcenters.Find("us")
	a := s.inspector.Sources("").Inventories[0]
	v := vc.Inventory.VMs()[0]
	for name, w := range map[string]explain.Wanted{
		"name": {Names: []string{v.Name}}, "uuid": {UUIDs: []string{v.UUID}}, "swapped uuid": {UUIDs: []string{swapped(t, v.UUID)}},
	} {
		found, err := a.VMs(t.Context(), w)
		if err != nil || len(found) != 1 {
			t.Fatalf("by %s: %v, %+v", name, err, found)
		}
		m := found[0]
		if m.Name != v.Name || m.UUID != v.UUID || m.Path != v.Path || m.Host != v.Host || m.Power != v.Power || m.TagsErr != nil {
			t.Errorf("by %s: %+v, want as in %+v", name, m, v)
		}
		var kinds, of []string
		for _, o := range m.FromHost {
			kinds = append(kinds, o.Type)
			for _, tag := range o.Tags {
				of = append(of, tag.Category+"/"+tag.Name)
			}
		}
		slices.Sort(of)
		if got := strings.Join(kinds, " "); got != "HostSystem ClusterComputeResource Folder Datacenter Folder" {
			t.Errorf("from the host: %s", got)
		}
		if want := []string{"k8s-region/" + v.Region, "k8s-zone/" + v.Zone}; !slices.Equal(of, want) {
			t.Errorf("tags %v, want %v", of, want)
		}
	}
	if found, err := a.VMs(t.Context(), explain.Wanted{Names: []string{"nobody"}, UUIDs: []string{"no uuid"}}); err != nil || len(found) != 0 {
		t.Errorf("nobody: %v, %+v", err, found)
	}
	if names, err := a.Categories(t.Context()); err != nil || !slices.Contains(names, "k8s-zone") {
		t.Errorf("categories %v, %v", names, err)
	}
	if _, err := a.VMs(canceled(t), explain.Wanted{Names: []string{v.Name}}); err == nil {
		t.Error("no error of a vCenter that was not asked")
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// swapped is a UUID in the other byte order.
func swapped(t *testing.T, u string) string {
	t.Helper()
	if len(u) != 36 {
		t.Fatalf("%q is no UUID", u)
	}
	turn := func(from, to int) (out string) {
		for i := to - 2; i >= from; i -= 2 {
			out += u[i : i+2]
		}
		return out
	}
	return turn(0, 8) + "-" + turn(9, 13) + "-" + turn(14, 18) + u[18:]
}

// What is explained of VMs is gathered from the vCenters; names are found as other commands find them, and those of VMs
// that are gone in the log.
func TestExplainVM(t *testing.T) {
	s := withVCenters(t, "zones-us-eu")
	c := serve(t, s)
	v := s.vcenters.Find("eu").Inventory.VMs()[0]
	for _, name := range []string{v.Name, "eu/" + v.Name, v.Path} {
		e, err := c.Explain(t.Context(), api.Subject{Kind: "vm", Name: name})
		if err != nil || e.Name != v.Name || e.VCenter != "eu" || len(e.Questions) < 4 {
			t.Errorf("%s: %v, %+v", name, err, e)
		}
	}
	_, err := c.Explain(t.Context(), api.Subject{Kind: "vm", Name: v.Name + "x"})
	requireCode(t, "an unknown name", err, "not-found")
	if !strings.Contains(err.Error(), v.Name) {
		t.Errorf("%v: no name is guessed", err)
	}
	_, err = c.Explain(t.Context(), api.Subject{Kind: "node", Name: v.Name})
	requireCode(t, "a node where there is no Kubernetes", err, "unsupported")
	_, err = c.Explain(t.Context(), api.Subject{Kind: "pod", Name: "x"})
	requireCode(t, "another kind", err, "invalid")

	s.log.Append(event.Event{Kind: "vm.destroyed", Object: event.Object{Kind: "VM", VCenter: "eu", Name: "was"}})
	e, err := c.Explain(t.Context(), api.Subject{Kind: "vm", Name: "was"})
	if err != nil || !strings.Contains(e.Summary, "destroyed") {
		t.Errorf("%v, %+v", err, e)
	}
}

// Everything can be looked into, and secrets are in nothing of it.
func TestInspect(t *testing.T) {
	s := withVCenters(t, "zones-us-eu")
	c := serve(t, s)
	vc := s.vcenters.Find("us")
	v := vc.Inventory.VMs()[0]
	for _, tc := range []struct {
		kind, name string
		want       []string
	}{
		{"vm", v.Name, []string{"uuid: " + v.UUID, "powerState: poweredOn", "path: " + v.Path, "numCPU:", "category: k8s-zone", "VirtualDisk"}},
		{"host", v.Host, []string{"connectionState: connected", "path: /"}},
		{"vcenter", "us", []string{"apiType: VirtualCenter", "gate: up", "count: "}},
	} {
		got, err := c.Inspect(t.Context(), api.Subject{Kind: tc.kind, Name: tc.name})
		if err != nil {
			t.Errorf("%s: %v", tc.kind, err)
			continue
		}
		text := ""
		for _, p := range got.Parts {
			if p.Error != "" {
				t.Errorf("%s: %s: %s", tc.kind, p.Title, p.Error)
			}
			text += p.YAML
		}
		for _, want := range tc.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", tc.kind, want, text)
			}
		}
		if strings.Contains(text, vc.Password()) {
			t.Errorf("%s: a password is told", tc.kind)
		}
		_, err = c.Inspect(t.Context(), api.Subject{Kind: tc.kind, Name: "nobody"})
		requireCode(t, "nobody of kind "+tc.kind, err, "not-found")
	}
	_, err := c.Inspect(t.Context(), api.Subject{Kind: "component", Name: "ccm"})
	requireCode(t, "a component that there is not", err, "not-found")
	for _, kind := range []string{"node", "vm", "volume"} { // a volume that is not bound has no handle: it is not called ""
		_, err := c.Explain(t.Context(), api.Subject{Kind: kind})
		requireCode(t, "to explain no "+kind, err, "invalid")
		_, err = c.Inspect(t.Context(), api.Subject{Kind: kind})
		requireCode(t, "to look into no "+kind, err, "invalid")
	}
	_, err = c.Inspect(t.Context(), api.Subject{Kind: "pod", Name: "x"})
	requireCode(t, "another kind", err, "invalid")
}
