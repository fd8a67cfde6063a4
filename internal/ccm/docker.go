package ccm

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// dockerImage is one of an archive of Docker's, whose layers are as they stand in the tar.
type dockerImage struct{ v1.Image }

// member is a file of a tar.
type member struct {
	kind byte
	size int64
	link string
	zstd bool
}

// members are the files of a tar by name; of several with one name the first, which is the one that counts.
type members map[string]member

// has reports whether there is a file of that name, written with ./ or without.
func (m members) has(name string) bool {
	_, plain := m[name]
	_, dotted := m["./"+name]
	return plain || dotted
}

// survey goes through a tar; what was found before an error is returned with it.
func survey(ctx context.Context, open func() (io.ReadCloser, error)) (members, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	found := members{}
	for t := tar.NewReader(r); ; {
		if err := ctx.Err(); err != nil {
			return found, context.Cause(ctx)
		}
		h, err := t.Next()
		switch {
		case err == io.EOF:
			return found, nil
		case err != nil:
			return found, err
		case len(h.Name) > mostPath || len(h.Linkname) > mostPath:
			return found, coded.New("ccm-archive-broken", "", nil, "has a file with a path that is longer than %d bytes", mostPath)
		case len(found) >= mostFiles:
			return found, coded.New("ccm-archive-broken", "", nil, "has more than %d files", mostFiles)
		}
		if _, exists := found[h.Name]; exists {
			continue
		}
		m := member{kind: h.Typeflag, size: h.Size, link: h.Linkname}
		head := make([]byte, 4)
		if n, err := io.ReadFull(t, head); err == nil {
			m.zstd = bytes.Equal(head[:n], zstdMagic())
		}
		found[h.Name] = m
	}
}

// real is the member that a name stands for, through links as package tarball follows them.
func (m members) real(name string) (member, bool) {
	for range 40 {
		found, exists := m[name]
		if !exists {
			return found, false
		}
		if found.kind != tar.TypeSymlink && found.kind != tar.TypeLink {
			return found, true
		}
		name = path.Join(filepath.Dir(name), path.Clean(found.link))
	}
	return member{}, false
}

// described checks a member that is read as a whole.
func (m members) described(what, name string) error {
	found, exists := m[name]
	switch {
	case !exists:
		return coded.New("ccm-archive-broken", "", nil, "has no %s: %s", what, name)
	case found.kind != tar.TypeReg:
		return coded.New("ccm-archive-broken", "", nil, "%s is no regular file", what)
	}
	return describing("the "+what, found.size)
}

// fromDocker opens the one image of an archive of Docker's. Package tarball reads manifest and configuration as they come,
// and follows links for ever: what it will meet is looked at first.
func fromDocker(open func() (io.ReadCloser, error), found members) (v1.Image, error) {
	const manifestName = "manifest.json"
	if err := found.described("manifest", manifestName); err != nil {
		return nil, err
	}
	text, err := readMember(open, manifestName)
	if err != nil {
		return nil, err
	}
	var manifest tarball.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, err
	}
	if len(manifest) != 1 {
		return nil, coded.New("ccm-archive-broken", "", nil, "has %s; save one alone", images(len(manifest)))
	}
	if err := found.described("configuration", manifest[0].Config); err != nil {
		return nil, err
	}
	if n := len(manifest[0].Layers); n > mostLayers {
		return nil, coded.New("ccm-image-unusable", "", nil, "has %d layers, more than %d", n, mostLayers)
	}
	for i, name := range manifest[0].Layers {
		switch layer, exists := found.real(name); {
		case !exists:
			return nil, coded.New("ccm-archive-broken", "", nil, "layer %d is not there", i+1)
		case layer.zstd:
			return nil, coded.New("ccm-image-unusable", "", nil, "layer %d is compressed with zstd, which archives of Docker's are not", i+1)
		}
	}
	img, err := tarball.Image(open, nil)
	if err != nil {
		return nil, err
	}
	return dockerImage{img}, nil
}

func images(n int) string {
	if n == 0 {
		return "no image"
	}
	return "several images"
}

// readMember reads a file of a tar whose size was looked at.
func readMember(open func() (io.ReadCloser, error), name string) ([]byte, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if err != nil {
			return nil, err
		}
		if h.Name == name {
			return io.ReadAll(io.LimitReader(t, mostDescription))
		}
	}
}

// layoutPath reports whether a path of a tar is one of an OCI layout's files: index.json, oci-layout, blobs/ALGORITHM/DIGEST.
func layoutPath(name string) bool {
	if name == "index.json" || name == "oci-layout" {
		return true
	}
	rest, ok := strings.CutPrefix(name, "blobs/")
	return ok && strings.Count(rest, "/") == 1 && filepath.IsLocal(name)
}
