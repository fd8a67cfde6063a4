package tag_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/tag"
)

// everywhere has tags on objects of each level.
const everywhere = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: tags}
spec:
  tagCategories:
    - {name: k8s-zone, types: [Datacenter, ClusterComputeResource, HostSystem, VirtualMachine]}
    - {name: k8s-region, types: [Datacenter, ClusterComputeResource, HostSystem, VirtualMachine]}
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          region: r1
          zone: z1
          clusters:
            - name: plain
              hosts: [{name: plain-host}]
            - name: tagged
              zone: z2
              hosts: [{name: tagged-host, zone: z3}]
          vms:
            - {name: plain-vm, cluster: plain}
            - {name: tagged-vm, cluster: tagged, tags: [{category: k8s-zone, name: z1}]}
`

func start(t *testing.T) snapshot.World {
	t.Helper()
	return snapshot.Start(t, everywhere)
}

// attached lists the tags of an object as "category/tag".
func attached(t *testing.T, w snapshot.World, path string) (list []string) {
	t.Helper()
	m := tags.NewManager(w.REST("vc"))
	all, err := m.GetAttachedTags(t.Context(), w.Ref("vc", path))
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range all {
		c, err := m.GetCategory(t.Context(), tag.CategoryID)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c.Name+"/"+tag.Name)
	}
	slices.Sort(list)
	return list
}

// trial is a kind tried on an object, and refused for another.
type trial struct {
	on     string // name
	path   string
	params map[string]string
	want   []string // tags then
	made   string   // name of a tag that there was none of

	refusedOn string
	refused   map[string]string
}

func trials() map[string]trial {
	const dc, tagged, taggedHost, taggedVM = "/dc", "/dc/host/tagged", "/dc/host/tagged/tagged-host", "/dc/vm/tagged-vm"
	to := func(name, tag string) map[string]string { return map[string]string{name: tag} }
	return map[string]trial{
		"tag.removed":         {on: "dc", path: dc, params: map[string]string{"category": "region"}, want: []string{"k8s-zone/z1"}},
		"tag.removed-cluster": {on: "tagged", path: tagged, refusedOn: "plain"},
		"tag.removed-host":    {on: "tagged-host", path: taggedHost, refusedOn: "plain-host"},
		"tag.removed-vm":      {on: "tagged-vm", path: taggedVM, refusedOn: "plain-vm"},

		"tag.moved": {
			on: "dc", path: dc, params: map[string]string{"category": "region", "to": "r9"}, want: []string{"k8s-region/r9", "k8s-zone/z1"}, made: "r9",
			refusedOn: "dc", refused: map[string]string{"category": "region", "to": "r1"},
		},
		"tag.moved-cluster": {on: "tagged", path: tagged, params: to("to", "z3"), want: []string{"k8s-zone/z3"}, refusedOn: "plain"},
		"tag.moved-host":    {on: "tagged-host", path: taggedHost, want: []string{"k8s-zone/z1"}, refusedOn: "plain-host"},
		"tag.moved-vm":      {on: "tagged-vm", path: taggedVM, params: to("to", "z2"), want: []string{"k8s-zone/z2"}, refusedOn: "plain-vm"},

		"tag.doubled": {
			on: "dc", path: dc, want: []string{"k8s-region/r1", "k8s-zone/z1", "k8s-zone/z2"},
			refusedOn: "dc", refused: to("with", "z1"),
		},
		"tag.doubled-cluster": {on: "tagged", path: tagged, params: to("with", "z8"), want: []string{"k8s-zone/z2", "k8s-zone/z8"}, made: "z8", refusedOn: "plain"},
		"tag.doubled-host":    {on: "tagged-host", path: taggedHost, params: to("with", "z2"), want: []string{"k8s-zone/z2", "k8s-zone/z3"}, refusedOn: "plain-host"},
		"tag.doubled-vm":      {on: "tagged-vm", path: taggedVM, params: to("with", "z3"), want: []string{"k8s-zone/z1", "k8s-zone/z3"}, refusedOn: "plain-vm"},

		"tag.nearer-contradicts-cluster": {on: "plain", path: "/dc/host/plain", want: []string{"k8s-zone/z2"}, refusedOn: "tagged"},
		"tag.nearer-contradicts-host": {
			on: "plain-host", path: "/dc/host/plain/plain-host", params: map[string]string{"category": "region", "to": "r2"}, want: []string{"k8s-region/r2"}, made: "r2",
			refusedOn: "plain-host", refused: map[string]string{"category": "region", "to": "r1"},
		},
		"tag.nearer-contradicts-vm": {on: "plain-vm", path: "/dc/vm/plain-vm", params: to("to", "z3"), want: []string{"k8s-zone/z3"}, refusedOn: "tagged-vm"},

		"tag.category-renamed": {
			on: "vc", path: dc, want: []string{"k8s-region/r1", "k8s-zone-renamed/z1"}, refusedOn: "vc", refused: to("to", "k8s-region"),
		},
	}
}

// TestKinds sees the effect of each kind, its revert and its refusal.
func TestKinds(t *testing.T) {
	all := trials()
	for _, k := range tag.Kinds() {
		trial, ok := all[k.Name]
		if !ok {
			t.Errorf("%s: no trial", k.Name)
			continue
		}
		delete(all, k.Name)
		t.Run(k.Name, func(t *testing.T) {
			w := start(t)
			before := w.Shown()
			request := fault.Request{Kind: k.Name, On: faulttest.On(trial.on), Params: trial.params}
			w.Plan(t, tag.Kinds(), request)
			w.WaitUnchanged(before)
			lease := w.Inject(t, tag.Kinds(), request)
			if diff := cmp.Diff(trial.want, attached(t, w, trial.path)); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
			if trial.made != "" && !has(w.Shown(), trial.made) {
				t.Errorf("no tag %s", trial.made)
			}
			w.Heal(t, lease.ID)
			w.WaitUnchanged(before)

			if caused := w.Caused(lease.Seq); len(caused) < 2 { // the healing is one
				t.Errorf("it caused %v", caused)
			}
			if trial.refusedOn == "" { // what is removed cannot be removed again
				w.Inject(t, tag.Kinds(), request)
				trial.refusedOn, trial.refused = trial.on, trial.params
				before = w.Shown()
			}
			request.On, request.Params = faulttest.On(trial.refusedOn), trial.refused
			if r := w.Refused(t, tag.Kinds(), request); r.Code != "conflict" {
				t.Errorf("refused: %+v", r)
			}
			w.WaitUnchanged(before)
		})
	}
	for name := range all {
		t.Errorf("%s: no such kind", name)
	}
}

func has(shown map[string]string, tag string) bool {
	for k := range shown {
		if strings.Contains(k, "/"+tag+" ") {
			return true
		}
	}
	return false
}

// TestSeveralAtOnce: targets of one lease share a tag that was made, and a category that allows several.
func TestSeveralAtOnce(t *testing.T) {
	w := start(t)
	before := w.Shown()
	lease := w.Inject(t, tag.Kinds(), fault.Request{
		Kind: "tag.doubled-vm", On: faulttest.On("tagged-vm"), Params: map[string]string{"with": "z9"},
	})
	other := w.Inject(t, tag.Kinds(), fault.Request{
		Kind: "tag.doubled-cluster", On: faulttest.On("tagged"), Params: map[string]string{"with": "z9"},
	})
	w.Heal(t, lease.ID)
	if got := attached(t, w, "/dc/host/tagged"); !slices.Equal(got, []string{"k8s-zone/z2", "k8s-zone/z9"}) {
		t.Errorf("the other lease's: %v", got)
	}
	w.Heal(t, other.ID)
	if shown := w.Shown(); shown["vc: Category k8s-zone .cardinality"] != "SINGLE" {
		t.Errorf("cardinality %q", shown["vc: Category k8s-zone .cardinality"])
	}
	w.WaitUnchanged(before)
}

// TestTargetIsGone: a lease of an object that is deleted can be healed.
func TestTargetIsGone(t *testing.T) {
	w := start(t)
	lease := w.Inject(t, tag.Kinds(), fault.Request{Kind: "tag.moved-vm", On: faulttest.On("tagged-vm"), Params: map[string]string{"to": "z7"}})
	destroy(t, w, "/dc/vm/tagged-vm")
	w.Heal(t, lease.ID)
	if has(w.Shown(), "z7") {
		t.Error("the tag that was made is left")
	}
}
