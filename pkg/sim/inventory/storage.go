package inventory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vmdk"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// datastore is a datastore with the directory of its files.
type datastore struct {
	*topology.Datastore
	obj   *simulator.Datastore
	dir   string
	hosts map[*host]bool
	// vms is the datastore's list, written when all VMs exist.
	vms []vc.Ref
}

// mount creates the datacenter's datastores and mounts them on their hosts.
func (b *builder) mount(dc *datacenter) error {
	for i := range dc.Datastores {
		if err := b.datastore(dc, &dc.Datastores[i]); err != nil {
			return fmt.Errorf("datastore %q: %w", dc.Datastores[i].Name, err)
		}
	}
	return nil
}

// datastore creates a datastore of several hosts from one directory: vcsim identifies "local" datastores with the same name and
// directory in one datacenter.
func (b *builder) datastore(dc *datacenter, spec *topology.Datastore) error {
	members, err := dc.members(spec.Hosts, spec.Clusters)
	if err != nil {
		return err
	}
	ds := &datastore{Datastore: spec, dir: b.file(dc.Name, spec.Name), hosts: make(map[*host]bool)}
	if err := os.MkdirAll(ds.dir, 0o700); err != nil {
		return err
	}
	for _, h := range members {
		if err := b.mountOn(ds, h); err != nil {
			return fmt.Errorf("host %q: %w", h.obj.Name, err)
		}
	}
	dc.datastores[spec.Name] = ds
	if ds.obj == nil {
		return nil // no host mounts it, so no vCenter would show it
	}
	ctx := b.fresh()
	ctx.WithLock(ds.obj, func() {
		format(&ds.obj.Datastore, spec, b.derive("datastore", dc.Name, spec.Name))
	})
	b.note(dc.path+"/datastore/"+spec.Name, ds.obj.Self, topology.Place{}, spec.Marks)
	return nil
}

func (b *builder) mountOn(ds *datastore, h *host) error {
	system := b.sim.Map.Get(*h.obj.ConfigManager.DatastoreSystem).(*simulator.HostDatastoreSystem)
	ctx := b.fresh()
	var body *methods.CreateLocalDatastoreBody
	ctx.WithLock(system, func() {
		body = system.CreateLocalDatastore(ctx, &types.CreateLocalDatastore{
			This: system.Self, Name: ds.Name, Path: ds.dir,
		}).(*methods.CreateLocalDatastoreBody)
	})
	if err := vc.Err(body); err != nil {
		return err
	}
	// The answer names the datastore only for the first mount.
	if ds.obj == nil {
		ds.obj = b.sim.Map.Get(body.Res.Returnval).(*simulator.Datastore)
	}
	ds.hosts[h] = true
	return nil
}

// URL returns the datastore's URL as a vCenter writes it, the same in each run: "ds:///vmfs/volumes/<volume>/". The properties
// (summary.url, info.url) have the directory of the files, which vcsim uses for files, content libraries and checks. For a
// datastore that the package did not create, URL returns that directory.
func URL(ds *mo.Datastore) string {
	if ds.Info != nil {
		if id := ds.Info.GetDatastoreInfo().ContainerId; id != "" {
			return "ds:///vmfs/volumes/" + id + "/"
		}
	}
	return ds.Summary.Url
}

// Shown returns the object as clients see it: a copy of a datastore with its [URL], or the object. The object must be locked, and
// the result, which shares most of it, must not be changed.
func Shown(obj mo.Reference) mo.Reference {
	ds, ok := obj.(*simulator.Datastore)
	if !ok || ds.Info == nil {
		return obj
	}
	shown := &simulator.Datastore{Datastore: ds.Datastore}
	shown.Summary.Url = URL(&ds.Datastore)
	shown.Info = duplicate(ds.Info)
	shown.Info.GetDatastoreInfo().Url = shown.Summary.Url
	return shown
}

// vmFiles are the files that vcsim writes for a VM.
type vmFiles struct {
	dir, name  string
	descriptor []byte // of its disk
}

// names returns the files that are never written, and the others.
func (f vmFiles) names() (idle, own []string) {
	return []string{f.name + "-flat.vmdk", f.name + ".nvram", "vmware.log"}, []string{f.name + ".vmdk", f.name + ".vmx"}
}

// writers is the number of directories that are filled concurrently: creating a file takes nearly a millisecond on some disks.
const writers = 8

// writer writes the files of VMs concurrently, while their objects are created.
//
// A new inode costs a hundred times as much as a link. So empty files, which only an upload would overwrite, are links to one
// file; the descriptor of the disk, which vcsim changes in place, and the .vmx, which users upload, are separate files.
type writer struct {
	ctx  context.Context
	jobs chan vmFiles
	done sync.WaitGroup
	once sync.Once

	mu     sync.Mutex
	empty  string // an empty file
	failed error
}

func startWriter(ctx context.Context) *writer {
	w := &writer{ctx: ctx, jobs: make(chan vmFiles)}
	for range writers {
		w.done.Go(func() {
			for job := range w.jobs {
				if ctx.Err() != nil {
					continue
				}
				if err := w.write(job); err != nil {
					w.mu.Lock()
					w.failed = errors.Join(w.failed, err)
					w.mu.Unlock()
				}
			}
		})
	}
	return w
}

// add queues the files, to be written before close returns. It returns the errors so far.
func (w *writer) add(f vmFiles) error {
	select {
	case w.jobs <- f:
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// close waits until everything is written and returns the errors. Closing again is harmless.
func (w *writer) close() error {
	w.once.Do(func() { close(w.jobs) })
	w.done.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

func (w *writer) write(f vmFiles) error {
	if err := os.Mkdir(f.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	idle, _ := f.names()
	for _, name := range idle {
		if err := w.touch(filepath.Join(f.dir, name)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(f.dir, f.name+".vmdk"), f.descriptor, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.dir, f.name+".vmx"), nil, 0o600)
}

// touch creates an empty file: a link to an existing one, if the file system and its limit of links allow that.
func (w *writer) touch(path string) error {
	w.mu.Lock()
	from := w.empty
	w.mu.Unlock()
	if from != "" && os.Link(from, path) == nil {
		return nil
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	w.mu.Lock()
	w.empty = path
	w.mu.Unlock()
	return nil
}

// descriptorFor returns a renderer of disk descriptors of one size. vcsim compiles a template for each.
func descriptorFor(capacity int64) (func(extent string) []byte, error) {
	const mark = "EXTENT"
	var b bytes.Buffer
	d := vmdk.NewDescriptor(vmdk.Extent{Info: mark, Size: capacity / vmdk.SectorSize})
	if err := d.Write(&b); err != nil {
		return nil, err
	}
	before, after, _ := strings.Cut(b.String(), mark)
	return func(extent string) []byte { return []byte(before + extent + after) }, nil
}
