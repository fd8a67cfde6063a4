package program

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// archive returns the program of the image in a file: what `docker save` writes, or an OCI layout as a folder or a tar,
// compressed or not.
func (o Options) archive(ctx context.Context, path string) (Program, error) {
	v := startProgress(o.Progress)
	defer v.stop()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Program{}, coded.New("missing", "", nil, "archive:%s: there is no such file", path)
	} else if err != nil {
		return Program{}, coded.New("missing", "", err, "archive:%s", path)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return Program{}, coded.New("archive-broken", "", nil, "archive:%s: is no file and no folder", path)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, mostArchiveTime, fmt.Errorf("takes longer than %s to unpack", mostArchiveTime))
	defer cancel()
	v.now("reading %s", path)
	var img v1.Image
	if info.IsDir() {
		img, err = o.fromLayout(path)
	} else {
		var done func()
		img, done, err = o.fromTar(ctx, path)
		defer done()
	}
	if err != nil {
		return Program{}, brokenArchive(path, err)
	}
	p, err := o.unpack(ctx, v, "archive:"+path, img)
	if err != nil {
		return Program{}, brokenArchive(path, err)
	}
	id, err := img.ConfigName()
	p.Digest = id.String()
	return p, err
}

func brokenArchive(path string, err error) error {
	if mine := (*coded.Error)(nil); errors.As(err, &mine) {
		if !strings.HasPrefix(mine.Message, "archive:") {
			mine.Message = fmt.Sprintf("archive:%s: %s", path, mine.Message)
		}
		return mine
	}
	if tooLarge, ok := errors.AsType[*input.TooLarge](err); ok {
		return coded.New("image-unusable", "", nil, "archive:%s: %v", path, tooLarge)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errors.New("it ends in the middle")
	}
	return coded.New("archive-broken", "", err, "archive:%s: is damaged, or cut short", path)
}

// fromLayout opens an OCI layout.
func (o Options) fromLayout(dir string) (v1.Image, error) {
	err := layoutFile("the index", dir, "index.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, coded.New("archive-broken", "", nil, "is no OCI layout: it has no index.json")
	} else if err != nil {
		return nil, err
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	// What a layout says of the size of a file need not be so.
	blob := func(what string, d v1.Descriptor) error {
		return layoutFile(what, dir, "blobs", d.Digest.Algorithm, d.Digest.Hex)
	}
	return o.fromIndex(index, blob, 0)
}

// fromTar opens a tar. An OCI layout is unpacked into a folder, which is there until done is called.
func (o Options) fromTar(ctx context.Context, path string) (img v1.Image, done func(), err error) {
	done = func() {}
	open := func() (io.ReadCloser, error) { return o.openTar(ctx, path) }
	found, err := survey(ctx, open)
	switch {
	case err != nil && len(found) == 0 && ctx.Err() == nil && !bounded(err):
		return nil, done, coded.New("archive-broken", "", nil, "is no tar of an image, or its beginning is damaged")
	case err != nil:
		return nil, done, err
	case found.has("index.json") && found.has("oci-layout"):
		scratch, done, err := o.scratch()
		if err != nil {
			return nil, func() {}, err
		}
		if err := o.unpackLayout(ctx, open, scratch); err != nil {
			return nil, done, err
		}
		img, err := o.fromLayout(scratch)
		return img, done, err
	case found.has("manifest.json"):
		img, err := fromDocker(open, found)
		return img, done, err
	}
	return nil, done, coded.New("archive-broken", "", nil, "is no image: it has neither index.json (OCI layout) nor manifest.json (docker save)")
}

// bounded reports whether an error is that there is too much of something.
func bounded(err error) bool {
	_, tooLarge := errors.AsType[*input.TooLarge](err)
	_, ours := errors.AsType[*coded.Error](err)
	return tooLarge || ours
}

// openTar opens a tar that may be compressed. It is as long as the layers of an image may be, and what describes them.
func (o Options) openTar(ctx context.Context, path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(f)
	if head, err := r.Peek(2); err == nil && head[0] == 0x1f && head[1] == 0x8b {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return &tarFile{limited(ctx, z, "what it unpacks to", o.Most+mostUnpacked), f}, nil
	}
	return &tarFile{limited(ctx, r, "it", o.Most+mostUnpacked), f}, nil
}

type tarFile struct {
	io.Reader
	file io.Closer
}

// Close implements [io.Closer].
func (t *tarFile) Close() error { return t.file.Close() }

// unpackLayout writes the files of an OCI layout to dir, and nothing that is in a tar beside them.
func (o Options) unpackLayout(ctx context.Context, open func() (io.ReadCloser, error), dir string) error {
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	left := o.Most
	for t := tar.NewReader(r); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := t.Next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		path := strings.TrimPrefix(h.Name, "./")
		if h.Typeflag != tar.TypeReg || !layoutPath(path) {
			continue
		}
		if left -= h.Size; left < 0 {
			return coded.New("image-unusable", "", nil, "is larger than %s", size(o.Most))
		}
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(path)), t, 0o600); err != nil {
			return err
		}
	}
}

func writeFile(path string, r io.Reader, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

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
			return found, coded.New("archive-broken", "", nil, "has a file with a path that is longer than %d bytes", mostPath)
		case len(found) >= mostFiles:
			return found, coded.New("archive-broken", "", nil, "has more than %d files", mostFiles)
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
		return coded.New("archive-broken", "", nil, "has no %s: %s", what, name)
	case found.kind != tar.TypeReg:
		return coded.New("archive-broken", "", nil, "%s is no regular file", what)
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
		return nil, coded.New("archive-broken", "", nil, "has %s; save one alone", images(len(manifest)))
	}
	if err := found.described("configuration", manifest[0].Config); err != nil {
		return nil, err
	}
	if n := len(manifest[0].Layers); n > mostLayers {
		return nil, coded.New("image-unusable", "", nil, "has %d layers, more than %d", n, mostLayers)
	}
	for i, name := range manifest[0].Layers {
		switch layer, exists := found.real(name); {
		case !exists:
			return nil, coded.New("archive-broken", "", nil, "layer %d is not there", i+1)
		case layer.zstd:
			return nil, coded.New("image-unusable", "", nil, "layer %d is compressed with zstd, which archives of Docker's are not", i+1)
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
