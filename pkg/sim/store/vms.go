package store

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vmdk"
	"golang.org/x/sync/errgroup"

	content "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
)

// prepareVM prepares a VM.
func (in *installer) prepareVM(vm *simulator.VirtualMachine) error {
	if host, ok := in.base.Map.Get(*vm.Runtime.Host).(*simulator.HostSystem); ok {
		if c, ok := vc.Compute(in.base.Map.Get(*host.Parent)); ok && c.EnvironmentBrowser != nil && in.base.Map.Get(vm.EnvironmentBrowser) == nil {
			vm.EnvironmentBrowser = *c.EnvironmentBrowser // a vCenter has one for each VM; govc saves those of clusters
		}
	}
	if vm.Guest == nil {
		vm.Guest = new(types.GuestInfo)
	}
	if vm.Summary.Guest == nil {
		vm.Summary.Guest = new(types.VirtualMachineGuestSummary)
	}
	if vm.Summary.Storage == nil {
		vm.Summary.Storage = new(types.VirtualMachineStorageSummary)
	}
	if vm.Storage == nil {
		vm.Storage = new(types.VirtualMachineStorageInfo)
	}
	if vm.Layout == nil {
		vm.Layout = new(types.VirtualMachineFileLayout)
	}
	if vm.LayoutEx == nil {
		vm.LayoutEx = new(types.VirtualMachineFileLayoutEx)
	}
	vm.Summary.Vm = &vm.Self
	in.snapshots(vm)
	return inventory.Adopt(vm)
}

// snapshots creates the objects of snapshots, which govc does not save.
func (in *installer) snapshots(vm *simulator.VirtualMachine) {
	if vm.Snapshot == nil {
		return
	}
	snapshots(vm.Snapshot.RootSnapshotList, func(t *types.VirtualMachineSnapshotTree, _ *vc.Ref) {
		t.Vm = vm.Self
		if in.base.Map.Get(t.Snapshot) != nil {
			return
		}
		s := &simulator.VirtualMachineSnapshot{DataSets: make(map[string]*simulator.DataSet)}
		s.Self, s.Vm, s.Config = t.Snapshot, vm.Self, *vm.Config
		for i := range t.ChildSnapshotList {
			s.ChildSnapshot = append(s.ChildSnapshot, t.ChildSnapshotList[i].Snapshot)
		}
		in.base.Map.Put(s)
	})
}

// vmFiles creates the files of the VMs, several VMs at once.
func (in *installer) vmFiles() error {
	maker, err := newFileMaker(in.dir)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(in.ctx)
	g.SetLimit(4 * runtime.GOMAXPROCS(0))
	for _, o := range in.order {
		vm, ok := o.obj.(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		stores := in.storesOf(vm)
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return maker.files(&vm.VirtualMachine, stores)
		})
	}
	return g.Wait()
}

// storesOf returns the directories of the VM's datastores, by name: names repeat in other datacenters.
func (in *installer) storesOf(vm *simulator.VirtualMachine) map[string]string {
	dirs := make(map[string]string)
	for _, ref := range vm.Datastore {
		if ds, ok := in.base.Map.Get(ref).(*simulator.Datastore); ok {
			dirs[ds.Name] = in.stores[ref]
		}
	}
	return dirs
}

// fileMaker creates the files that operations on VMs require. A new inode costs a hundred times as much as a link, so files that
// are never written are links to one empty file.
type fileMaker struct {
	empty              string
	before, mid, after string // of the descriptor of a disk, around its size and the name of its extent
}

func newFileMaker(dir string) (*fileMaker, error) {
	m := &fileMaker{empty: filepath.Join(dir, ".empty")}
	if err := os.WriteFile(m.empty, nil, 0o600); err != nil {
		return nil, err
	}
	// package vmdk reads a template for each descriptor.
	const name, sectors = "EXTENT", 123456789
	var b strings.Builder
	if err := vmdk.NewDescriptor(vmdk.Extent{Info: name, Size: sectors}).Write(&b); err != nil {
		return nil, err
	}
	text, ok := b.String(), false
	if m.before, text, ok = strings.Cut(text, formatInt(sectors)); ok {
		m.mid, m.after, ok = strings.Cut(text, name)
	}
	if !ok {
		return nil, errDescriptor
	}
	return m, nil
}

var errDescriptor = errors.New("descriptors of disks have another form in this release of govmomi")

func (m *fileMaker) descriptor(extent string, capacity int64) []byte {
	return []byte(m.before + formatInt(capacity/vmdk.SectorSize) + m.mid + extent + m.after)
}

// files makes the files of a VM.
func (m *fileMaker) files(vm *mo.VirtualMachine, stores map[string]string) error {
	vmx, err := home(vm)
	if err != nil {
		return err
	}
	stem := strings.TrimSuffix(path.Base(vmx.Path), ".vmx")
	if dir, ok, err := m.dir(stores, vmx); err != nil {
		return err
	} else if ok {
		err := errors.Join(create(filepath.Join(dir, path.Base(vmx.Path)), nil),
			m.idle(filepath.Join(dir, stem+".nvram")), m.idle(filepath.Join(dir, "vmware.log")))
		if err != nil {
			return err
		}
	}
	for _, d := range disks(vm) {
		p, err := localPath(d.file)
		if err != nil {
			return err
		}
		dir, ok, err := m.dir(stores, p)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		extent := strings.TrimSuffix(path.Base(p.Path), ".vmdk") + "-flat.vmdk"
		err = errors.Join(create(filepath.Join(dir, path.Base(p.Path)), m.descriptor(extent, d.capacity)), m.idle(filepath.Join(dir, extent)))
		if err != nil {
			return err
		}
	}
	return nil
}

// dir creates the directory of a file. It returns false if the datastore was not saved.
func (m *fileMaker) dir(stores map[string]string, p object.DatastorePath) (string, bool, error) {
	root := stores[p.Datastore]
	if root == "" || p.Path == "" {
		return "", false, nil
	}
	dir := filepath.Join(root, filepath.FromSlash(dirOf(p)))
	if err := os.Mkdir(dir, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
		return dir, true, nil
	}
	return dir, true, os.MkdirAll(dir, 0o700)
}

// idle creates an empty file that is never written: a link to a shared one, as long as links are possible.
func (m *fileMaker) idle(file string) error {
	if err := os.Link(m.empty, file); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return create(file, nil)
}

// create creates a file, unless it exists: two VMs may share one.
func create(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// datastore sets the directory of the datastore. Clients still see the saved URL: see inventory.URL.
func (in *installer) datastore(ds *simulator.Datastore) error {
	dir := filepath.Join(in.dir, fmt.Sprintf("%s-%s", fileName(ds.Self.Value), fileName(ds.Name)))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if in.files != nil {
		if from := in.files(ds.Self); from != "" {
			if err := content.CopyTree(in.ctx, from, dir); err != nil {
				return err
			}
		}
	}
	in.stores[ds.Self] = dir
	info := ds.Info.GetDatastoreInfo()
	if id := volume(ds.Summary.Url); id != "" {
		info.ContainerId = id
	}
	info.Url, ds.Summary.Url = dir, dir
	ds.Summary.Datastore = &ds.Self
	in.browser(&ds.Browser, nil)
	if b, ok := in.base.Map.Get(ds.Browser).(*simulator.HostDatastoreBrowser); ok && !slices.Contains(b.Datastore, ds.Self) {
		b.Datastore = append(b.Datastore, ds.Self)
	}
	return nil
}

// volume returns the volume in a URL like "ds:///vmfs/volumes/<volume>/", or "".
func volume(text string) string {
	const below = "/vmfs/volumes/"
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "ds" || !strings.HasPrefix(u.Path, below) {
		return ""
	}
	return path.Base(strings.TrimPrefix(u.Path, below))
}

// fileName returns a name as an element of a path.
func fileName(name string) string {
	name = url.PathEscape(name)
	if strings.Trim(name, ".") == "" {
		name = strings.ReplaceAll(name, ".", "%2E")
	}
	return name[:min(len(name), 100)]
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// host sets the parts of the host that vcsim uses: saved ones, or else new ones.
func (in *installer) host(h *simulator.HostSystem, answers map[string]any) {
	if r, ok := answers["QueryTpmAttestationReport"].(types.QueryTpmAttestationReportResponse); ok {
		h.QueryTpmAttestationReportResponse = r
	}
	in.complete(&h.HostSystem)
	h.Summary.Runtime = &h.Runtime // vcsim shares them
	if h.Summary.Host == nil {
		h.Summary.Host = &h.Self
	}
	m := &h.ConfigManager
	switch p := in.part(&m.NetworkSystem, func() mo.Reference { return simulator.NewHostNetworkSystem(&h.HostSystem) }).(type) {
	case *simulator.HostNetworkSystem:
		p.Host = &h.HostSystem
		if r, ok := in.answer(p.Self, "QueryNetworkHint").(types.QueryNetworkHintResponse); ok {
			p.QueryNetworkHintResponse = r
		}
	}
	if p, ok := in.part(&m.VirtualNicManager, func() mo.Reference {
		return simulator.NewHostVirtualNicManager(&h.HostSystem)
	}).(*simulator.HostVirtualNicManager); ok {
		p.Host = &h.HostSystem
	}
	if p, ok := in.part(&m.CertificateManager, func() mo.Reference {
		return &simulator.HostCertificateManager{Host: &h.HostSystem}
	}).(*simulator.HostCertificateManager); ok {
		p.Host = &h.HostSystem
	}
	if p, ok := in.part(&m.DatastoreSystem, func() mo.Reference {
		return &simulator.HostDatastoreSystem{HostDatastoreSystem: mo.HostDatastoreSystem{Datastore: h.Datastore}}
	}).(*simulator.HostDatastoreSystem); ok {
		p.Host = &h.HostSystem
	}
	in.part(&m.AdvancedOption, func() mo.Reference { return optionManager(&h.Config.Option) })
	in.part(&m.FirewallSystem, func() mo.Reference { return simulator.NewHostFirewallSystem(&h.HostSystem) })
	in.part(&m.StorageSystem, func() mo.Reference { return simulator.NewHostStorageSystem(&h.HostSystem) })
	in.browser(&h.DatastoreBrowser, h.Datastore)
}

func optionManager(options *[]types.BaseOptionValue) mo.Reference {
	m, _ := simulator.NewOptionManager(nil, nil, options).(*simulator.OptionManager)
	return m
}

// complete fills in what only a connected host reports, for a host that was disconnected during the save.
func (in *installer) complete(h *mo.HostSystem) {
	like := esx.HostSystem
	if h.Config == nil {
		in.note("host %s was disconnected: its configuration was not saved", h.Name)
		config := *like.Config
		h.Config = &config
	}
	if h.Config.Network == nil {
		network := *like.Config.Network
		h.Config.Network = &network
	}
	if h.Hardware == nil {
		hardware := *esx.HostHardwareInfo
		h.Hardware = &hardware
		if s := h.Summary.Hardware; s != nil {
			h.Hardware.SystemInfo.Uuid = s.Uuid
			h.Hardware.CpuInfo.NumCpuCores, h.Hardware.MemorySize = s.NumCpuCores, s.MemorySize
		}
	}
	if h.Summary.Hardware == nil {
		hardware := *like.Summary.Hardware
		h.Summary.Hardware = &hardware
	}
	if h.Capability == nil {
		capability := *esx.HostCapability
		h.Capability = &capability
	}
	if h.Summary.Config.Product == nil {
		product := h.Config.Product
		h.Summary.Config.Product = &product
	}
}

// compute sets the environment browser of a compute resource.
func (in *installer) compute(c *mo.ComputeResource) {
	in.part(&c.EnvironmentBrowser, func() mo.Reference { return new(simulator.EnvironmentBrowser) })
}

func (in *installer) environment(b *simulator.EnvironmentBrowser, answers map[string]any) {
	if r, ok := answers["QueryConfigOption"].(types.QueryConfigOptionResponse); ok {
		b.QueryConfigOptionResponse = r
	}
	if r, ok := answers["QueryConfigTarget"].(types.QueryConfigTargetResponse); ok {
		b.QueryConfigTargetResponse = r
	}
	if r, ok := answers["QueryTargetCapabilities"].(types.QueryTargetCapabilitiesResponse); ok {
		b.QueryTargetCapabilitiesResponse = r
	}
	r, ok := answers["QueryConfigOptionDescriptor"].(types.QueryConfigOptionDescriptorResponse)
	if !ok { // govc does not save it
		if o := b.QueryConfigOptionResponse.Returnval; o != nil && o.Version != "" {
			r.Returnval = []types.VirtualMachineConfigOptionDescriptor{{
				Key: o.Version, Description: o.Description, DefaultConfigOption: true,
				CreateSupported: true, RunSupported: true, UpgradeSupported: true,
			}}
		}
	}
	b.QueryConfigOptionDescriptorResponse = r
}

// part returns the object of a reference, or creates it under that reference, if set.
func (in *installer) part(at **vc.Ref, fresh func() mo.Reference) mo.Reference {
	if *at != nil {
		if obj := in.base.Map.Get(**at); obj != nil {
			return obj
		}
	}
	obj := fresh()
	if *at != nil {
		reflect.ValueOf(obj).Elem().FieldByName("Self").Set(reflect.ValueOf(**at))
	}
	ref := in.base.Map.Put(obj).Reference()
	*at = &ref
	return obj
}

// browser makes sure that a reference has a datastore browser.
func (in *installer) browser(at *vc.Ref, stores []vc.Ref) {
	ref := at
	if at.Value == "" {
		ref = nil
	}
	in.part(&ref, func() mo.Reference {
		return &simulator.HostDatastoreBrowser{HostDatastoreBrowser: mo.HostDatastoreBrowser{Datastore: stores}}
	})
	*at = *ref
}

// answer returns the saved answer of a method of an object.
func (in *installer) answer(ref vc.Ref, method string) any {
	if o := in.objects[ref]; o != nil {
		return o.answers[method]
	}
	return nil
}
