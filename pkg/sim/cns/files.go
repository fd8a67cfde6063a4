package cns

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vmdk"
)

// folder is where first class disks are on a datastore; one with objects in the place of a file system names it by a UUID.
const folder = "fcd"

// diskPath is where a disk's descriptor is on a datastore.
func (m *Manager) diskPath(s *store, id string) string {
	in := folder
	if strings.EqualFold(s.kind, "vsan") || strings.EqualFold(s.kind, "vvol") {
		in = m.derive(folder, s.ref.Value)
	}
	return (&object.DatastorePath{Datastore: s.name, Path: in + "/" + id + ".vmdk"}).String()
}

// file is a file of a datastore on this machine.
func (s *store) file(path string) (string, bool) {
	var p object.DatastorePath
	if !p.FromString(path) || p.Path == "" || !filepath.IsLocal(p.Path) {
		return "", false
	}
	return filepath.Join(s.dir, filepath.FromSlash(p.Path)), true
}

// writeFiles makes what vcsim looks for where there is a disk: the descriptor, and an empty file for its content.
func (s *store) writeFiles(path string, capacityMB int64) error {
	file, ok := s.file(path)
	if !ok {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	flat := flatName(file)
	extent := vmdk.Extent{Info: filepath.Base(flat), Size: capacityMB << 20 / vmdk.SectorSize}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(vmdk.NewDescriptor(extent).Write(f), f.Close()); err != nil {
		return err
	}
	return os.WriteFile(flat, nil, 0o600)
}

// removeFiles is the end of both; what is not there is no error.
func (s *store) removeFiles(path string) error {
	file, ok := s.file(path)
	if !ok {
		return nil
	}
	var all []error
	for _, f := range []string{file, flatName(file)} {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

func flatName(file string) string { return strings.TrimSuffix(file, ".vmdk") + "-flat.vmdk" }
