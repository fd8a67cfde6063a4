package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// output is something that has been written: the digest is the index's for a layout, an image's for an archive.
type output struct {
	path, name string
	digest     v1.Hash
}

// imageName is repository/program:tag.
func imageName(o *options, p program) (name.Tag, error) {
	return name.NewTag(o.repository+"/"+p.name+":"+o.tag, name.StrictValidation)
}

// writeLayout writes a folder by the program's name, in place of one that was there.
func writeLayout(o *options, m *made) ([]output, error) {
	tag, err := imageName(o, m.program)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(o.out, m.program.name)
	if err := removeLayout(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, err
	}
	err = to.AppendIndex(m.index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag.TagStr(),
		"io.containerd.image.name":          tag.Name(),
	}))
	if err != nil {
		return nil, err
	}
	digest, err := m.index.Digest()
	return []output{{dir, tag.Name(), digest}}, err
}

// removeLayout removes a folder only if it is what writeLayout writes.
func removeLayout(dir string) error {
	switch _, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "oci-layout")); err != nil {
		return fmt.Errorf("%s: is there, and is no OCI layout", dir)
	}
	return os.RemoveAll(dir)
}

// writeArchives writes a file by the name of the program and the platform, for each.
func writeArchives(o *options, m *made) ([]output, error) {
	tag, err := imageName(o, m.program)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return nil, err
	}
	var all []output
	for i, image := range m.images {
		file := filepath.Join(o.out, fmt.Sprintf("%s-%s-%s.tar", m.program.name, o.platforms[i].OS, o.platforms[i].Architecture))
		if err := tarball.WriteToFile(file, tag, image); err != nil {
			return nil, err
		}
		digest, err := image.Digest()
		if err != nil {
			return nil, err
		}
		all = append(all, output{file, tag.Name(), digest})
	}
	return all, nil
}
