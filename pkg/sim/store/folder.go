package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// folder is a folder that is read. Paths cannot leave it.
type folder struct {
	dir  string
	root *os.Root

	mu       sync.Mutex
	problems []Problem
}

// largest limits the size of a file. A vCenter's largest objects have a few MB.
const largest = 64 << 20

func open(dir string) (*folder, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s %w", dir, errNotDir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &folder{dir: dir, root: root}, nil
}

func (f *folder) close() { _ = f.root.Close() } // it was only read

func (f *folder) add(p Problem) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problems = append(f.problems, p)
}

// failed returns the problems so far, by file.
func (f *folder) failed() error {
	if len(f.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(f.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return &Error{Dir: f.dir, Problems: f.problems}
}

// list returns the sorted names in a folder; empty if it does not exist.
func (f *folder) list(name string) []fs.DirEntry {
	info, err := f.root.Lstat(name)
	if isMissing(err) {
		return nil
	}
	if err == nil && !info.IsDir() {
		f.add(Problem{File: name, What: "is no folder", Try: tryCopy})
		return nil
	}
	entries, err := fs.ReadDir(f.root.FS(), name)
	if err != nil {
		f.add(Problem{File: name, What: reason(err), Try: tryCopy})
	}
	return entries
}

// optional reads a file that may be missing.
func (f *folder) optional(name string) ([]byte, bool) {
	if _, err := f.root.Lstat(name); isMissing(err) {
		return nil, false
	}
	return f.read(name)
}

// read reads a file that must be there.
func (f *folder) read(name string) ([]byte, bool) {
	info, err := f.root.Lstat(name)
	switch {
	case err != nil:
		f.add(Problem{File: name, What: reason(err), Try: tryAgain})
		return nil, false
	case info.Mode()&fs.ModeSymlink != 0:
		f.add(Problem{File: name, What: "is a link; what it leads to may be anything", Try: tryCopy})
		return nil, false
	case !info.Mode().IsRegular():
		f.add(Problem{File: name, What: "is no file", Try: tryCopy})
		return nil, false
	case info.Size() > largest:
		f.add(Problem{File: name, What: fmt.Sprintf("has %d MB; no saved object has more than %d", info.Size()>>20, largest>>20), Try: tryAgain})
		return nil, false
	}
	file, err := f.root.Open(name)
	if err != nil {
		f.add(Problem{File: name, What: reason(err), Try: tryCopy})
		return nil, false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, largest))
	if err != nil {
		f.add(Problem{File: name, What: reason(err), Try: tryCopy})
		return nil, false
	}
	return data, true
}

// verify compares the files of a manifest with their sums.
func (f *folder) verify(manifest []byte, files map[string]string) {
	for name, want := range files {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			f.add(Problem{File: manifestName, Line: lineOf(manifest, name), What: fmt.Sprintf("file %q is outside of the folder", name), Try: tryAgain})
			continue
		}
		data, ok := f.read(name)
		if !ok {
			continue
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
			f.add(Problem{File: name, What: "is not as it was saved: its checksum differs", Try: tryAgain + "\n" + tryEdited})
		}
	}
}

// reason returns an error without the path, which the caller adds.
func reason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+2:]
	}
	return text
}

// baseName is the last part of a path.
func baseName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return path.Base(filepath.ToSlash(dir))
}

// localPath parses the path of a file on a datastore, which must not leave it.
func localPath(text string) (object.DatastorePath, error) {
	var p object.DatastorePath
	if !p.FromString(text) {
		return p, fmt.Errorf("file %q is no datastore path", text)
	}
	if p.Path != "" && !filepath.IsLocal(filepath.FromSlash(p.Path)) {
		return p, fmt.Errorf("file %q is outside of its datastore", text)
	}
	return p, nil
}

// home returns the path of the VM's .vmx.
func home(vm *mo.VirtualMachine) (object.DatastorePath, error) {
	return localPath(vm.Config.Files.VmPathName)
}

// disk is a disk with its own file.
type disk struct {
	key      int32
	file     string
	capacity int64
}

func disks(vm *mo.VirtualMachine) []disk {
	var all []disk
	for _, d := range vm.Config.Hardware.Device {
		v, ok := d.(*types.VirtualDisk)
		if !ok {
			continue
		}
		b, ok := v.Backing.(types.BaseVirtualDeviceFileBackingInfo)
		if !ok {
			continue
		}
		capacity := v.CapacityInBytes
		if capacity == 0 {
			capacity = v.CapacityInKB << 10
		}
		if name := b.GetVirtualDeviceFileBackingInfo().FileName; name != "" {
			all = append(all, disk{v.Key, name, capacity})
		}
	}
	return all
}

// firstClass counts the first class disks that are attached to the VM.
func firstClass(vm *mo.VirtualMachine) (n int) {
	for _, d := range vm.Config.Hardware.Device {
		if v, ok := d.(*types.VirtualDisk); ok && v.VDiskId != nil {
			n++
		}
	}
	return n
}

// dirOf returns the directory of a file in a datastore.
func dirOf(p object.DatastorePath) string { return path.Dir(p.Path) }

// formatVersion is the version of the additional files. Load refuses a folder with a newer one.
const formatVersion = 1

// The names in a folder.
const (
	manifestName = "sandbox.json"
	ownFolder    = "sandbox"
	tagsName     = ownFolder + "/tags.json"
	accessName   = ownFolder + "/access.json"
	policiesName = ownFolder + "/policies.xml"
	objectExt    = ".xml"
)

// manifest describes the contents of the folder.
type manifest struct {
	Format       int    `json:"format"`
	VCenter      string `json:"vcenter"`
	InstanceUUID string `json:"instanceUUID"`
	Version      string `json:"version"`
	Scrubbed     bool   `json:"scrubbed,omitempty"`
	// Files are the SHA-256 sums of all other files, in hexadecimal digits.
	Files map[string]string `json:"files"`
}

// access holds the access control.
type access struct {
	Roles       []role       `json:"roles"`
	Permissions []permission `json:"permissions"`
	// Users are those with permissions, directly or as members of groups.
	Users []user `json:"users"`
}

type role struct {
	Name string `json:"name"`
	// System marks a role that every vCenter has.
	System     bool     `json:"system,omitempty"`
	Privileges []string `json:"privileges,omitempty"`
}

// permission names principals as vCenter does: "VSPHERE.LOCAL\\administrator".
type permission struct {
	Entity    vc.Ref `json:"entity"`
	Principal string `json:"principal"`
	Group     bool   `json:"group,omitempty"`
	Role      string `json:"role"`
	Propagate bool   `json:"propagate,omitempty"`
}

type user struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
}

// methodFile returns the name of the file with a method's answer.
func methodFile(ref vc.Ref, method string) string { return path.Join(ref.Encode(), method+objectExt) }

// writer writes a folder beside its destination, and moves it there when it is complete.
type writer struct {
	dir     string // the destination
	temp    string
	replace bool
	sums    map[string]string
	buffer  bytes.Buffer
}

func newWriter(dir string, replace bool) (*writer, error) {
	dir = filepath.Clean(dir)
	if err := vacant(dir, replace); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return nil, err
	}
	return &writer{dir: dir, temp: temp, replace: replace, sums: make(map[string]string)}, nil
}

// The errors of [Save] about its folder.
var (
	ErrExists  = errors.New("exists and is not empty")
	ErrForeign = errors.New("is not a saved inventory, and is not replaced")
)

// vacant returns an error if the folder must not be created.
func vacant(dir string, replace bool) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) == 0:
		return nil
	case !replace:
		return fmt.Errorf("%s %w", dir, ErrExists)
	}
	for _, e := range entries {
		if e.Name() == manifestName || filepath.Ext(e.Name()) == objectExt {
			return nil
		}
	}
	return fmt.Errorf("%s %w", dir, ErrForeign)
}

// xml writes a value as govc does.
func (w *writer) xml(name string, v any) error {
	w.buffer.Reset()
	if err := encode(&w.buffer, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return w.write(name, w.buffer.Bytes())
}

func (w *writer) json(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return w.write(name, append(b, '\n'))
}

func (w *writer) write(name string, data []byte) error {
	path := filepath.Join(w.temp, filepath.FromSlash(name))
	if filepath.Dir(path) != w.temp {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
	}
	sum := sha256.Sum256(data)
	w.sums[name] = hex.EncodeToString(sum[:])
	return os.WriteFile(path, data, 0o644)
}

// commit writes the manifest and moves the folder to its destination.
func (w *writer) commit(m manifest) error {
	m.Files = w.sums
	if err := w.json(manifestName, m); err != nil {
		return err
	}
	if err := os.Chmod(w.temp, 0o755); err != nil {
		return err
	}
	if err := vacant(w.dir, w.replace); err != nil { // it may have been created since
		return err
	}
	old := w.temp + "-old"
	if err := os.Rename(w.dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(w.temp, w.dir); err != nil {
		return errors.Join(err, putBack(old, w.dir))
	}
	return os.RemoveAll(old)
}

func putBack(old, dir string) error {
	if err := os.Rename(old, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (w *writer) discard() error { return os.RemoveAll(w.temp) }
