package store

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vmdk"
	"golang.org/x/sync/errgroup"

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
