package sim

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Saved is the inventory of one vCenter, read from a folder, for one simulation.
type Saved struct{ loaded *store.Loaded }

// DamagedError lists the problems of a folder by file, with suggestions.
type DamagedError = store.Error

// OpenSaved reads and checks an inventory that "vcenter save" or govc's object.save wrote. If the contents are invalid, the error
// is a *[DamagedError].
func OpenSaved(dir string) (*Saved, error) {
	loaded, err := store.Load(dir)
	if err != nil {
		return nil, err
	}
	return &Saved{loaded}, nil
}

// Notes lists what was left out of the inventory because the folder lacks it.
func (s *Saved) Notes() []string { return s.loaded.Notes() }

// TopologyOf returns the topology of saved inventories for [Options]: their vCenters with users and roles, and without objects.
// It fails if two have the same name or are the same vCenter.
func TopologyOf(saved ...*Saved) (*topology.Topology, error) {
	t := &topology.Topology{
		APIVersion: topology.APIVersion, Kind: topology.Kind, Metadata: topology.Metadata{Name: "loaded"},
		Spec: topology.Spec{Seed: "loaded", Categories: topology.Categories{Region: "k8s-region", Zone: "k8s-zone"}},
	}
	seen := map[string]bool{}
	for _, s := range saved {
		v := s.loaded.Spec()
		for _, is := range []string{"name " + v.Name, "instance UUID " + v.InstanceUUID} {
			if seen[is] {
				return nil, fmt.Errorf("two of the saved vCenters have the %s", is)
			}
			seen[is] = true
		}
		t.Spec.VCenters = append(t.Spec.VCenters, v)
	}
	return t, nil
}

// restore installs a saved inventory.
func (v *VCenter) restore(ctx context.Context, dir string, saved *Saved) (*inventory.Built, error) {
	built, err := saved.loaded.Install(ctx, store.Target{Context: v.service.ctx, Dir: dir})
	if err != nil {
		return nil, err
	}
	if err := v.service.rest.Restore(saved.loaded.Tags()); err != nil {
		return nil, err
	}
	if err := saved.loaded.RestorePolicies(v.service.policies); err != nil {
		return nil, err
	}
	for _, note := range saved.loaded.Notes() {
		v.logger.Info("loaded inventory", "note", note)
	}
	return built, v.grant(built)
}
