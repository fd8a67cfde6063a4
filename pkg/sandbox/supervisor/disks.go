package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	sv "github.com/vsphere-sandbox/vsphere-sandbox/pkg/supervisor"
)

// disks is the storage of the Supervisor: CNS of the topology's only vCenter. It implements [sv.Storage]. The zero value is closed.
type disks struct {
	mu     sync.Mutex
	center center
	// stores are CNS as clusters use it: the Supervisor, with the key "", and guest clusters, by their UIDs.
	stores map[string]*store.Store
}

// open makes the storage usable, until close.
func (d *disks) open(p *Part) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.center, d.stores = center{p}, map[string]*store.Store{}
}

func (d *disks) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.stores {
		s.Close()
	}
	d.stores = nil
}

// of returns CNS as a guest cluster uses it, or as the Supervisor does with "".
func (d *disks) of(guest string) (*store.Store, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	vc := d.center.vcenter()
	if d.stores == nil || vc == nil {
		return nil, errors.New("the vCenter does not run")
	}
	if d.stores[guest] == nil {
		cluster := store.Cluster{ID: guest, Flavor: string(cnstypes.CnsClusterFlavorGuest)}
		if guest == "" {
			cluster = store.Cluster{ID: sv.ClusterID, Flavor: string(cnstypes.CnsClusterFlavorWorkload)}
		}
		d.stores[guest] = store.New(store.Options{Clients: []*vcenter.Client{vc.Client}, Cluster: cluster, Logger: d.center.p.Logger})
	}
	return d.stores[guest], nil
}

// reach is a zone with the datastores that all its hosts mount.
type reach struct {
	zone   string
	stores []api.Datastore
}

// reaches lists the zones, each with its datastores.
func (d *disks) reaches() (all []reach) {
	stores := d.center.vcenter().Inventory.Datastores()
	for _, z := range d.center.p.Topology().HostZones() {
		r := reach{zone: z.Name}
		for _, s := range stores {
			lacks := func(host string) bool { return !slices.Contains(s.Hosts, host) }
			if s.Accessible && (s.Maintenance == "" || s.Maintenance == string(types.DatastoreSummaryMaintenanceModeStateNormal)) && !slices.ContainsFunc(z.Hosts, lacks) {
				r.stores = append(r.stores, s)
			}
		}
		all = append(all, r)
	}
	return all
}

// CreateVolume implements [sv.Storage]. The datastore is one that the policy accepts and that all hosts of a zone mount.
func (d *disks) CreateVolume(ctx context.Context, spec sv.VolumeSpec) (sv.Volume, error) {
	s, err := d.of("")
	if err != nil {
		return sv.Volume{}, err
	}
	policy, accepted, err := d.policy(ctx, spec.Policy)
	if err != nil {
		return sv.Volume{}, err
	}
	reaches := d.reaches()
	vs := volume.Spec{
		Name: spec.Name, Capacity: spec.Bytes, Policy: policy,
		Metadata: volume.Metadata{PV: spec.PersistentVolume, PVC: spec.Claim, Namespace: spec.Namespace},
	}
	for _, zone := range spec.Zones {
		if len(vs.Datastores) > 0 {
			break
		}
		for _, r := range reaches {
			for _, ds := range r.stores {
				if r.zone == zone && accepted[ds.MoRef] {
					vs.Datastores = append(vs.Datastores, volume.Datastore{VCenter: ds.VCenter, Ref: ds.MoRef, Name: ds.Name, URL: ds.URL, Free: ds.FreeBytes})
				}
			}
		}
	}
	if len(vs.Datastores) == 0 {
		return sv.Volume{}, fmt.Errorf("no datastore that storage policy %q accepts is within reach of all hosts of one of the zones %s", spec.Policy, strings.Join(spec.Zones, ", "))
	}
	v, err := s.Create(ctx, vs)
	if err != nil {
		return sv.Volume{}, err
	}
	made := sv.Volume{ID: v.ID, Bytes: v.Capacity}
	for _, r := range reaches {
		if slices.ContainsFunc(r.stores, func(s api.Datastore) bool { return s.URL == v.DatastoreURL }) {
			made.Zones = append(made.Zones, r.zone)
		}
	}
	return made, nil
}

// policy returns the id of a storage policy, and the references of datastores that it accepts.
func (d *disks) policy(ctx context.Context, name string) (id string, accepted map[string]bool, err error) {
	var hubs []pbmtypes.PbmPlacementHub
	for _, s := range d.center.vcenter().Inventory.Datastores() {
		hubs = append(hubs, pbmtypes.PbmPlacementHub{HubType: "Datastore", HubId: s.MoRef})
	}
	accepted = map[string]bool{}
	err = d.center.do(ctx, func(ctx context.Context, s *vcenter.Session) error {
		client, err := pbm.NewClient(ctx, s.Vim)
		if err != nil {
			return err
		}
		if id, err = client.ProfileIDByName(ctx, name); err != nil {
			return err
		}
		results, err := client.CheckRequirements(ctx, hubs, nil, []pbmtypes.BasePbmPlacementRequirement{
			&pbmtypes.PbmPlacementCapabilityProfileRequirement{ProfileId: pbmtypes.PbmProfileId{UniqueId: id}},
		})
		for _, hub := range results.CompatibleDatastores() {
			accepted[hub.HubId] = true
		}
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("storage policy %q: %w", name, err)
	}
	return id, accepted, nil
}

// DeleteVolume implements [sv.Storage].
func (d *disks) DeleteVolume(ctx context.Context, id string) error {
	s, err := d.of("")
	if err != nil {
		return err
	}
	return s.Delete(ctx, id)
}

// ExpandVolume implements [sv.Storage].
func (d *disks) ExpandVolume(ctx context.Context, id string, bytes int64) error {
	s, err := d.of("")
	if err != nil {
		return err
	}
	_, err = s.Expand(ctx, id, bytes)
	return err
}

// node is a VM as CNS's clients know it.
func (d *disks) node(vm sv.VM) volume.Node {
	return volume.Node{ID: vm.BIOSUUID, Name: vm.Name, VCenter: d.center.vcenter().Name(), VM: vm.UniqueID}
}

// AttachVolume implements [sv.Storage].
func (d *disks) AttachVolume(ctx context.Context, id string, vm sv.VM) (string, error) {
	s, err := d.of("")
	if err != nil {
		return "", err
	}
	uuid, err := s.Attach(ctx, id, d.node(vm))
	if err != nil || len(uuid) != 32 {
		return uuid, err
	}
	return strings.Join([]string{uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:]}, "-"), nil
}

// DetachVolume implements [sv.Storage].
func (d *disks) DetachVolume(ctx context.Context, id string, vm sv.VM) error {
	s, err := d.of("")
	if err != nil {
		return err
	}
	return s.Detach(ctx, id, d.node(vm))
}

// RecordEntity implements [sv.Storage].
func (d *disks) RecordEntity(ctx context.Context, id string, e sv.Entity, remove bool) error {
	s, err := d.of(e.Cluster)
	if err != nil {
		return err
	}
	one := []volume.Entity{{
		EntityRef: volume.EntityRef{Kind: volume.EntityKind(e.Kind), Namespace: e.Namespace, Name: e.Name}, Labels: e.Labels,
		Refers: volume.EntityRef{Kind: volume.EntityKind(e.Refers.Kind), Namespace: e.Refers.Namespace, Name: e.Refers.Name},
	}}
	if !remove {
		return s.UpdateRecord(ctx, id, one, nil)
	}
	if err := s.UpdateRecord(ctx, id, nil, one); !errors.Is(err, volume.ErrNotFound) {
		return err
	}
	return nil
}
