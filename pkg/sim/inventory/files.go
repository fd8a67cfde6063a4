package inventory

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vmdk"
)

// vmFiles are the files of a VM: what vcsim writes when it makes one.
type vmFiles struct {
	dir, name  string
	descriptor []byte // of its disk
}

// names are the files: those that nobody has a reason to write to, and the others.
func (f vmFiles) names() (idle, own []string) {
	return []string{f.name + "-flat.vmdk", f.name + ".nvram", "vmware.log"}, []string{f.name + ".vmdk", f.name + ".vmx"}
}

// writers is how many directories are filled at once. Making a file is waiting, on some disks nearly a millisecond.
const writers = 8

// writer writes the files of VMs, several at once, while their objects are made.
//
// A new inode costs a disk a hundred times what another name for one does. So the files that are empty, and that only an
// upload over them would write to, are names of one file; the descriptor of the disk, which vcsim rewrites in place, and
// the .vmx, which people do upload, are files of their own.
type writer struct {
	ctx  context.Context
	jobs chan vmFiles
	done sync.WaitGroup
	once sync.Once

	mu     sync.Mutex
	empty  string // a file without content
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

// add has the files written some time before close returns. It reports what has failed so far.
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

// close waits until everything is written and reports what has failed. Closing again is harmless.
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

// touch makes an empty file: a further name of the one there is, where the file system has that and as long as the file
// can have more names.
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

// descriptorFor renders disk descriptors of one size. vcsim's own way compiles a template for each.
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
