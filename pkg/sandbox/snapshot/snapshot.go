// Package snapshot keeps the snapshots of sandboxes on disk: a folder for each, with a manifest, which is complete or does not exist.
//
//	<state>/.snapshots/<sandbox>/<snapshot>/
//	  manifest.json       format, versions, sizes and checksums of all other files
//	  topology.yaml       the topology in use
//	  objects.jsonl       the objects of the API server
//	  pki/                authorities and keys
//	  vcenters/<name>/    what sim.VCenter.Snapshot saves
//	  nodes/<vm>/         directories of kubelets, with the volumes of pods
//	  events.jsonl        the event log
//
// A snapshot has passwords and private keys: its folder is for its owner only.
//
// The package does not know what is in the files, nor how to save or restore a sandbox. Floor 3.
package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Format is the version of the format. A snapshot of another one is refused.
const Format = 1

// The reserved names. Stopped is what "stop" saves; LastStop is what it is called once "start" has booted from it.
const (
	Stopped  = "stopped"
	LastStop = "last-stop"
)

// The names in a folder.
const (
	manifestName = "manifest.json"
	Topology     = "topology.yaml"
	Objects      = "objects.jsonl"
	PKI          = "pki"
	VCenters     = "vcenters"
	Nodes        = "nodes"
	Events       = "events.jsonl"
	NSX          = "nsx.json"
)

// Codes of errors.
const (
	CodeDamaged  = "snapshot-damaged"
	CodeOther    = "snapshot-incompatible"
	CodeNotFound = "snapshot-not-found"
	CodeExists   = "exists"
	CodeName     = "invalid"
)

// Manifest describes a snapshot.
type Manifest struct {
	// Format is [Format].
	Format int `json:"format"`
	api.Snapshot
	// Speed is the sandbox's, Settings are the flags of "up" that its user has set, by name.
	Speed    float64             `json:"speed"`
	Settings map[string][]string `json:"settings,omitempty"`
	// APIPort is the port of the API server, Addresses are those of the vCenters, in the order of the topology.
	APIPort   int      `json:"apiPort"`
	Addresses []string `json:"addresses"`
	// Dir was the directory of the sandbox: links in directories of nodes lead into it.
	Dir string `json:"dir"`
	// CSI: the sandbox had a CSI driver.
	CSI bool `json:"csi"`
	// Files are all regular files, by path.
	Files map[string]File `json:"files"`

	saved string // the name under which it was saved
}

// File is the size and the SHA-256 of a file.
type File struct {
	Bytes int64  `json:"bytes"`
	Sum   string `json:"sha256"`
}

// Folder has the snapshots of one sandbox. Its directory need not exist.
type Folder string

// In returns the folder of a sandbox below a state root.
func In(root, sandbox string) Folder { return Folder(filepath.Join(root, ".snapshots", sandbox)) }

// ValidateName returns an error unless a snapshot can have the name: lower-case letters, digits and dashes, at most 40.
func ValidateName(name string) error {
	if len(name) > 40 || !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`).MatchString(name) {
		return coded.New(CodeName, "vsphere-sandbox snapshot save before-upgrade", nil, "snapshot name %q: want lower-case letters, digits and dashes, a letter or digit first and last, at most 40 characters", name)
	}
	return nil
}

// Path returns the directory of a snapshot.
func (f Folder) Path(name string) string { return filepath.Join(string(f), name) }

// unfinished begins the names of snapshots that are being saved, or removed.
const unfinished = ".new-"

// replaced ends the name of a snapshot that another one is about to replace.
const replaced = "-old"

// Writer is a snapshot that is being saved.
type Writer struct {
	// Dir is where its files go.
	Dir string

	folder Folder
	name   string
}

// Create begins a snapshot. The caller is the only one that saves snapshots of the sandbox; what a killed predecessor left is removed.
// With replace, an existing snapshot stays until [Writer.Commit].
func (f Folder) Create(name string, replace bool) (*Writer, error) {
	if err := ValidateName(name); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(f.Path(name)); err == nil && !replace {
		return nil, coded.New(CodeExists, "vsphere-sandbox snapshot save "+name+" --force   # replaces it", nil, "snapshot %q exists", name)
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, err
	}
	for _, above := range []string{filepath.Dir(string(f)), string(f)} {
		if err := private.Dir(above); err != nil {
			return nil, err
		}
	}
	if err := f.sweep(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(string(f), unfinished+name+"-")
	if err != nil {
		return nil, err
	}
	return &Writer{Dir: dir, folder: f, name: name}, nil
}

// sweep removes what was left by processes that were killed.
func (f Folder) sweep() error {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(string(f), e.Name())
		if !strings.HasPrefix(e.Name(), unfinished) {
			continue
		}
		if strings.HasSuffix(e.Name(), replaced) && f.putBack(path) {
			continue
		}
		err = errors.Join(err, disk.RemoveAll(path))
	}
	return err
}

// putBack gives a snapshot its name again whose replacement was interrupted.
func (f Folder) putBack(path string) bool {
	m, err := Read(path)
	if err != nil {
		return false
	}
	name := m.saved
	if _, err := os.Lstat(f.Path(name)); !errors.Is(err, fs.ErrNotExist) || ValidateName(name) != nil {
		return false
	}
	return os.Rename(path, f.Path(name)) == nil
}

// Open returns the manifest of a snapshot of the sandbox: see [Read].
func (f Folder) Open(name string) (*Manifest, error) {
	if err := ValidateName(name); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(f.Path(name)); errors.Is(err, fs.ErrNotExist) {
		if entries, _ := filepath.Glob(filepath.Join(string(f), unfinished+name+"-*"+replaced)); len(entries) > 0 {
			f.putBack(entries[0])
		}
	}
	return Read(f.Path(name))
}

// Commit completes the snapshot: it adds sizes and checksums to the manifest, and gives the folder its name in one step.
func (w *Writer) Commit(m *Manifest) error {
	m.Format, m.Name, m.Files = Format, w.name, map[string]File{}
	m.Bytes = 0
	err := walk(w.Dir, func(path, rel string) error {
		file, err := sum(path)
		m.Files[rel] = file
		m.Bytes += file.Bytes
		return err
	})
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(w.Dir, manifestName), append(text, '\n'), 0o600); err != nil {
		return err
	}
	m.Path = w.folder.Path(w.name)
	old := w.Dir + replaced
	if err := os.Rename(m.Path, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(w.Dir, m.Path); err != nil {
		return err
	}
	return disk.RemoveAll(old)
}

// Discard removes what was written. It does nothing after [Writer.Commit].
func (w *Writer) Discard() error { return disk.RemoveAll(w.Dir) }

// Rename gives a snapshot another name, and replaces one that has it.
func (f Folder) Rename(from, to string) error {
	if err := disk.RemoveAll(f.Path(to)); err != nil {
		return err
	}
	return os.Rename(f.Path(from), f.Path(to))
}

// walk calls f with every regular file but the manifest.
func walk(dir string, f func(path, rel string) error) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == manifestName {
			return err
		}
		return f(path, filepath.ToSlash(rel))
	})
}

// sum reads a file. One that its owner must not read is made readable for that.
func sum(path string) (File, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		if info, serr := os.Lstat(path); serr == nil && os.Chmod(path, 0o600) == nil {
			file, err = os.Open(path)
			err = errors.Join(err, os.Chmod(path, info.Mode().Perm()))
		}
	}
	if err != nil {
		return File{}, err
	}
	defer file.Close()
	h := sha256.New()
	n, err := io.Copy(h, file)
	return File{n, hex.EncodeToString(h.Sum(nil))}, err
}

// Read returns the manifest of the snapshot in a directory. It checks the format, and no other files: see [Verify].
func Read(dir string) (*Manifest, error) {
	name := filepath.Base(dir)
	if err := private.Dir(dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, coded.New(CodeNotFound, "vsphere-sandbox snapshot list", nil, "snapshot %q not found", name)
		}
		return nil, err
	}
	text, err := private.ReadFile(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, coded.New(CodeNotFound, "vsphere-sandbox snapshot list", nil, "%s is no snapshot: it has no %s", dir, manifestName)
	}
	if err != nil {
		return nil, err
	}
	var version struct {
		Format  int    `json:"format"`
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, damaged(name, err, "its %s cannot be read", manifestName)
	}
	if version.Format != Format {
		return nil, coded.New(CodeOther, "vsphere-sandbox snapshot delete "+name, nil,
			"snapshot %q has format %d, of vsphere-sandbox %s; this release restores format %d", name, version.Format, version.Version, Format)
	}
	m := new(Manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, damaged(name, err, "its %s cannot be read", manifestName)
	}
	m.saved, m.Name, m.Path = m.Name, name, dir
	return m, nil
}

// Verify reads all files of a snapshot, and reports the first that is missing or has another content.
func (m *Manifest) Verify() error {
	seen := 0
	err := walk(m.Path, func(path, rel string) error {
		want, known := m.Files[rel]
		if !known {
			return damaged(m.Name, nil, "%s was added to it", rel)
		}
		seen++
		switch is, err := sum(path); {
		case err != nil:
			return damaged(m.Name, err, "%s cannot be read", rel)
		case is.Bytes != want.Bytes:
			return damaged(m.Name, nil, "%s has %d bytes, and had %d", rel, is.Bytes, want.Bytes)
		case is.Sum != want.Sum:
			return damaged(m.Name, nil, "%s has another checksum", rel)
		}
		return nil
	})
	if err != nil || seen == len(m.Files) {
		return err
	}
	for rel := range m.Files {
		if _, err := os.Lstat(filepath.Join(m.Path, filepath.FromSlash(rel))); err != nil {
			return damaged(m.Name, nil, "%s is missing", rel)
		}
	}
	return nil
}

func damaged(name string, err error, format string, args ...any) error {
	return coded.New(CodeDamaged, "vsphere-sandbox snapshot list   # others\nvsphere-sandbox snapshot delete "+name, err, "snapshot %q is damaged: %s", name, fmt.Sprintf(format, args...))
}

// CheckKubernetes refuses a snapshot of another minor release of Kubernetes: its API server may not read the objects.
func (m *Manifest) CheckKubernetes(version string) error {
	if minor(m.Kubernetes) == minor(version) {
		return nil
	}
	return coded.New(CodeOther, fmt.Sprintf("vsphere-sandbox up --from %s --kubernetes %s", m.Path, minor(m.Kubernetes)), nil,
		"snapshot %q is of Kubernetes %s, and this sandbox runs %s: the minor release must be the same", m.Name, m.Kubernetes, version)
}

// minor returns v1.37 for v1.37.2.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// List returns the snapshots of a sandbox, oldest first. One that cannot be read has only a name, a path and a problem.
func (f Folder) List() ([]api.Snapshot, error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []api.Snapshot
	for _, e := range entries {
		if !e.IsDir() || ValidateName(e.Name()) != nil {
			continue
		}
		m, err := Read(f.Path(e.Name()))
		if err != nil {
			all = append(all, api.Snapshot{Name: e.Name(), Path: f.Path(e.Name()), Problem: err.Error()})
			continue
		}
		all = append(all, m.Snapshot)
	}
	slices.SortStableFunc(all, func(a, b api.Snapshot) int { return a.SavedAt.Compare(b.SavedAt) })
	return all, nil
}

// Sandboxes returns the names of the sandboxes below a state root that have snapshots, or had some.
func Sandboxes(root string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(string(In(root, "x"))))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // making a sandbox there says what is wrong with the root
		return nil, nil
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Reserved returns the addresses, "IP:port" each, of the vCenters of all stopped sandboxes below a state root: "start" needs
// them again. A snapshot that cannot be read has none.
func Reserved(root string) (addresses []string, err error) {
	names, err := Sandboxes(root)
	for _, name := range names {
		if m, err := In(root, name).Open(Stopped); err == nil {
			addresses = append(addresses, m.Addresses...)
		}
	}
	return addresses, err
}

// Delete removes a snapshot.
func (f Folder) Delete(name string) error {
	if err := ValidateName(name); err != nil {
		return err
	}
	gone := filepath.Join(string(f), fmt.Sprintf("%s%s-%d-deleted", unfinished, name, time.Now().UnixNano()))
	if err := os.Rename(f.Path(name), gone); errors.Is(err, fs.ErrNotExist) {
		return coded.New(CodeNotFound, "vsphere-sandbox snapshot list", nil, "snapshot %q not found", name)
	} else if err != nil {
		return err
	}
	return disk.RemoveAll(gone)
}

// DeleteAll removes all snapshots of the sandbox. It returns how many there were.
func (f Folder) DeleteAll() (n int, err error) {
	all, err := f.List()
	if err != nil {
		return 0, err
	}
	if err := disk.RemoveAll(string(f)); err != nil {
		return 0, err
	}
	_ = os.Remove(filepath.Dir(string(f))) // unless other sandboxes have some
	return len(all), nil
}

// mountTable is the file in which a node's CSI service keeps its mounts, by path.
const mountTable = "mounts.json"

// Relocate changes what leads into the directory from, in a copy of the directories of nodes, to lead into the directory to: symbolic
// links, and the tables of mounts.
func Relocate(dir, from, to string) error {
	if from == to {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			rest, within := strings.CutPrefix(target, from+string(filepath.Separator))
			if !within {
				return nil
			}
			return errors.Join(os.Remove(path), os.Symlink(filepath.Join(to, rest), path))
		case e.Type().IsRegular() && e.Name() == mountTable:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, []byte(strings.ReplaceAll(string(text), from+string(filepath.Separator), to+string(filepath.Separator))), 0o600)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
