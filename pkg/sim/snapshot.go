package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	content "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Names in the folder of a snapshot of a vCenter.
const (
	snapshotInventory      = "inventory" // what store.Save writes
	snapshotState          = "state.json"
	snapshotVolumes        = "volumes.xml"
	snapshotCustomizations = "customizations.xml"
	snapshotDatastores     = "datastores" // a directory for each datastore
	snapshotContents       = "contents"   // a directory for each disk
)

// savedState is what a snapshot has of a vCenter and a saved inventory has not.
type savedState struct {
	dir string

	Users  []savedUser  `json:"users"`
	Guests []savedGuest `json:"guests"`
}

type savedUser struct {
	Name     string `json:"name"`
	Password string `json:"password"`
}

type savedGuest struct {
	VM   string     `json:"vm"`
	Info guest.Info `json:"info"`
	// Origin is the UUID of the VM that a clone comes from.
	Origin string `json:"origin,omitempty"`
}

// customizations are the specifications of the CustomizationSpecManager.
type customizations struct {
	Items []types.CustomizationSpecItem `xml:"item"`
}

// idleTick is how often Snapshot looks whether operations on volumes have ended, idleTime how long it waits for that.
const (
	idleTick = 10 * time.Millisecond
	idleTime = 2 * time.Second
)

// Snapshot saves all that the vCenter needs to become the same again in the folder dir, which it creates: the inventory with
// references and UUIDs, tags, roles and permissions, storage policies, passwords, what guests report, volumes and first-class disks
// with their contents, files of datastores, and customization specifications. It does not save sessions, tasks, events, faults and
// content libraries. c and r are sessions with all privileges, such as the console's. Clients should be quiet while it runs: Snapshot
// waits up to two seconds for operations on volumes, and then fails.
func (v *VCenter) Snapshot(ctx context.Context, c *vim25.Client, r *rest.Client, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := v.awaitIdle(ctx); err != nil {
		return err
	}
	if _, err := store.Save(ctx, c, r, filepath.Join(dir, snapshotInventory), store.Options{Name: v.Name()}); err != nil {
		return err
	}
	var s savedState
	for _, u := range v.Users() {
		s.Users = append(s.Users, savedUser{u.Name, u.Password})
	}
	for _, obj := range v.service.ctx.Map.AllReference("VirtualMachine") {
		if info, ok := v.guests.Info(obj.Reference()); ok {
			s.Guests = append(s.Guests, savedGuest{obj.Reference().Value, info, v.guests.Origin(obj.Reference())})
		}
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	volumes, err := v.service.volumes.Export()
	if err != nil {
		return err
	}
	specs, err := readCustomizations(ctx, c)
	if err != nil {
		return fmt.Errorf("customization specifications: %w", err)
	}
	for name, data := range map[string][]byte{snapshotState: text, snapshotVolumes: volumes, snapshotCustomizations: specs} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return v.copyFiles(ctx, dir)
}

// awaitIdle waits until no operation on a volume runs.
func (v *VCenter) awaitIdle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, idleTime)
	defer cancel()
	tick := time.NewTicker(idleTick)
	defer tick.Stop()
	for !v.service.volumes.Idle() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("operations on volumes have not ended: %w", context.Cause(ctx))
		}
	}
	return nil
}

// copyFiles copies the files of datastores and the contents of disks.
func (v *VCenter) copyFiles(ctx context.Context, dir string) error {
	stores := filepath.Join(dir, snapshotDatastores)
	if err := os.Mkdir(stores, 0o700); err != nil {
		return err
	}
	for _, obj := range v.service.ctx.Map.AllReference("Datastore") {
		ds, ok := obj.(*simulator.Datastore)
		if !ok {
			continue
		}
		var from string
		vc.Fresh(v.service.ctx).WithLock(ds, func() { from = ds.Summary.Url })
		if from == "" {
			continue
		}
		if err := content.CopyTree(ctx, from, filepath.Join(stores, url.PathEscape(ds.Self.Value))); err != nil {
			return err
		}
	}
	return content.CopyTree(ctx, v.contents, filepath.Join(dir, snapshotContents))
}

func readCustomizations(ctx context.Context, c *vim25.Client) ([]byte, error) {
	var all customizations
	ref := c.ServiceContent.CustomizationSpecManager
	if ref != nil {
		var m mo.CustomizationSpecManager
		if err := property.DefaultCollector(c).RetrieveOne(ctx, *ref, []string{"info"}, &m); err != nil {
			return nil, err
		}
		for _, info := range m.Info {
			one, err := methods.GetCustomizationSpec(ctx, c, &types.GetCustomizationSpec{This: *ref, Name: info.Name})
			if err != nil {
				return nil, err
			}
			all.Items = append(all.Items, one.Returnval)
		}
	}
	var b bytes.Buffer
	err := xml.NewEncoder(&b).Encode(all)
	return b.Bytes(), err
}

// OpenSnapshot reads what [VCenter.Snapshot] saved, for [Options.Saved]. The topology of the options is the one that the vCenter
// had; accounts get their saved passwords. Errors are those of [OpenSaved].
func OpenSnapshot(dir string) (*Saved, error) {
	loaded, err := store.Load(filepath.Join(dir, snapshotInventory))
	if err != nil {
		return nil, err
	}
	s := &savedState{dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, snapshotState))
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, snapshotState), err)
	}
	return &Saved{loaded: loaded, state: s}, nil
}

// setPasswords gives the accounts of a vCenter their passwords.
func (s *savedState) setPasswords(v *service) error {
	for _, u := range s.Users {
		if _, exists := v.access.User(u.Name); !exists {
			continue // the topology is another one
		}
		if err := v.access.SetPassword(u.Name, u.Password); err != nil {
			return err
		}
	}
	return nil
}

// spec returns the vCenter of a topology with the roles that the saved one had.
func (s *Saved) spec(of topology.VCenter) topology.VCenter {
	if s != nil && s.state != nil {
		of.Roles = s.loaded.Spec().Roles
	}
	return of
}

// files is the store.Target's: nil without a snapshot.
func (s *savedState) files(ref vc.Ref) string {
	dir := filepath.Join(s.dir, snapshotDatastores, url.PathEscape(ref.Value))
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// restore restores what the inventory does not have.
func (s *savedState) restore(ctx context.Context, v *VCenter, built *inventory.Built) error {
	for _, g := range s.Guests {
		ref := vc.Ref{Type: "VirtualMachine", Value: g.VM}
		built.Guests[ref] = g.Info
		if g.Origin != "" {
			built.Origins[ref] = g.Origin
		}
	}
	from := filepath.Join(s.dir, snapshotContents)
	if _, err := os.Stat(from); err == nil {
		if err := os.MkdirAll(filepath.Dir(v.contents), 0o700); err != nil {
			return err
		}
		if err := content.CopyTree(ctx, from, v.contents); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	volumes, err := os.ReadFile(filepath.Join(s.dir, snapshotVolumes))
	if err != nil {
		return err
	}
	if err := v.service.volumes.Import(volumes); err != nil {
		return fmt.Errorf("%s: %w", snapshotVolumes, err)
	}
	return s.customize(v.service)
}

// customize restores the customization specifications.
func (s *savedState) customize(v *service) error {
	data, err := os.ReadFile(filepath.Join(s.dir, snapshotCustomizations))
	if err != nil {
		return err
	}
	var all customizations
	d := xml.NewDecoder(bytes.NewReader(data))
	d.TypeFunc = types.TypeFunc()
	if err := d.Decode(&all); err != nil {
		return fmt.Errorf("%s: %w", snapshotCustomizations, err)
	}
	ref := v.ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.CustomizationSpecManager
	if ref == nil {
		return nil
	}
	m, ok := v.ctx.Map.Get(*ref).(*simulator.CustomizationSpecManager)
	if !ok {
		return nil
	}
	ctx := vc.Fresh(v.ctx)
	for _, item := range all.Items {
		if m.CreateCustomizationSpec(ctx, &types.CreateCustomizationSpec{This: m.Self, Item: item}).Fault() != nil { // it has the name
			m.OverwriteCustomizationSpec(ctx, &types.OverwriteCustomizationSpec{This: m.Self, Item: item})
		}
	}
	return nil
}
