package image

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
)

// blobs is where content is in an archive.
const blobs = "blobs/sha256/"

// docker is an image in Docker's own list of an archive's images.
type docker struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// Write writes the archive. It ends early with ctx, or when a program is no longer what it was when the set was made.
func (s *Set) Write(ctx context.Context, to io.Writer) error {
	w := tar.NewWriter(to)
	var index []descriptor
	var list []docker
	written := map[string]bool{} // images that differ in their names alone share the rest
	put := func(b blob) error {
		if written[b.digest()] {
			return nil
		}
		written[b.digest()] = true
		return entry(w, blobs+b.digest(), b.data)
	}
	if err := entry(w, "oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return err
	}
	for _, m := range s.images {
		config, err := m.config()
		if err != nil {
			return err
		}
		manifest, err := m.manifest(config)
		if err != nil {
			return err
		}
		if err := errors.Join(put(config), put(manifest)); err != nil {
			return err
		}
		index = append(index, m.entries(manifest)...)
		one := docker{Config: blobs + config.digest(), RepoTags: m.names}
		for _, l := range m.layers {
			one.Layers = append(one.Layers, blobs+l.digest)
		}
		list = append(list, one)
	}
	for _, l := range s.layers {
		if err := s.writeLayer(ctx, w, l); err != nil {
			return err
		}
	}
	if err := document(w, "index.json", map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": index}); err != nil {
		return err
	}
	if err := document(w, "manifest.json", list); err != nil {
		return err
	}
	return w.Close()
}

// entries are the image in the layout's index, once for each name.
func (m *made) entries(manifest blob) []descriptor {
	var all []descriptor
	for _, name := range m.names {
		_, tag := split(name)
		d := manifest.descriptor(manifestType)
		d.Platform = map[string]string{"os": "linux", "architecture": m.layers[0].arch}
		d.Annotations = map[string]string{"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}
		all = append(all, d)
	}
	return all
}

func (s *Set) writeLayer(ctx context.Context, w *tar.Writer, l *layer) error {
	if err := w.WriteHeader(header(blobs+l.digest, tar.TypeReg, 0o644, l.size)); err != nil {
		return err
	}
	again := &layer{files: l.files}
	sum := newSum(w)
	if _, err := again.write(ctx, sum); err != nil {
		return err
	}
	if sum.digest() != l.digest {
		return fmt.Errorf("image: %s was changed while it was read; make the images again", l.files[0].name)
	}
	return nil
}

func entry(w *tar.Writer, name string, data []byte) error {
	if err := w.WriteHeader(header(name, tar.TypeReg, 0o644, int64(len(data)))); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

func document(w *tar.Writer, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return entry(w, name, data)
}

// WriteFile is Write into a file, which is complete or not there. Only its owner can read it.
func (s *Set) WriteFile(ctx context.Context, path string) error {
	f, err := atomicfile.Create(path, 0o600)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := s.Write(ctx, f); err != nil {
		return err
	}
	return f.Commit()
}
