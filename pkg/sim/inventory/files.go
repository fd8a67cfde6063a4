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
