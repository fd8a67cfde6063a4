package ccm

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// archive returns the program of the image in a file: what `docker save` writes, or an OCI layout as a folder or a tar,
// compressed or not.
func (o Options) archive(ctx context.Context, path string) (Program, error) {
	v := speak(o.Progress)
	defer v.quiet()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Program{}, wrong("ccm-missing", nil, "CCM archive:%s: there is no such file", path)
	} else if err != nil {
		return Program{}, wrong("ccm-missing", err, "CCM archive:%s", path)
	}
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
	if mine := (*Error)(nil); errors.As(err, &mine) {
		if !strings.HasPrefix(mine.Message, "CCM ") {
			mine.Message = fmt.Sprintf("CCM archive:%s: %s", path, mine.Message)
		}
		return mine
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errors.New("it ends in the middle")
	}
	return wrong("ccm-archive-broken", err, "CCM archive:%s: is damaged, or cut short", path)
}

// fromLayout opens an OCI layout.
func (o Options) fromLayout(dir string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, wrong("ccm-archive-broken", nil, "is no OCI layout: it has no index.json")
	} else if err != nil {
		return nil, err
	}
	return o.fromIndex(index, 0)
}

// fromTar opens a tar. An OCI layout is unpacked into a folder, which is there until done is called.
func (o Options) fromTar(ctx context.Context, path string) (img v1.Image, done func(), err error) {
	done = func() {}
	open := func() (io.ReadCloser, error) { return openTar(path) }
	names, err := topNames(ctx, open)
	switch {
	case err != nil && len(names) == 0:
		return nil, done, wrong("ccm-archive-broken", nil, "is no tar of an image, or its beginning is damaged")
	case err != nil:
		return nil, done, err
	case names["index.json"] && names["oci-layout"]:
		scratch, done, err := o.scratch()
		if err != nil {
			return nil, func() {}, err
		}
		if err := o.unpackLayout(ctx, open, scratch); err != nil {
			return nil, done, err
		}
		img, err := o.fromLayout(scratch)
		return img, done, err
	case names["manifest.json"]:
		img, err := tarball.Image(open, nil)
		if err != nil && strings.Contains(err.Error(), "tarball must contain only a single image") {
			return nil, done, wrong("ccm-archive-broken", nil, "has several images; save one alone")
		}
		return img, done, err
	}
	return nil, done, wrong("ccm-archive-broken", nil, "is no image: it has neither index.json (OCI layout) nor manifest.json (docker save)")
}

// openTar opens a tar that may be compressed.
func openTar(path string) (io.ReadCloser, error) {
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
		return &tarFile{z, f}, nil
	}
	return &tarFile{r, f}, nil
}

type tarFile struct {
	io.Reader
	file io.Closer
}

// Close implements [io.Closer].
func (t *tarFile) Close() error { return t.file.Close() }

// topNames lists what is at the top of a tar; what was found before an error is returned with it.
func topNames(ctx context.Context, open func() (io.ReadCloser, error)) (map[string]bool, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	names := map[string]bool{}
	for t, n := tar.NewReader(r), 0; n < mostEntries; n++ {
		if err := ctx.Err(); err != nil {
			return names, err
		}
		h, err := t.Next()
		if err == io.EOF {
			return names, nil
		} else if err != nil {
			return names, err
		}
		names[strings.TrimPrefix(h.Name, "./")] = true
	}
	return names, errors.New("too many files")
}

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
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(path) || path != "index.json" && path != "oci-layout" && !strings.HasPrefix(path, "blobs/") {
			continue
		}
		if left -= h.Size; left < 0 {
			return wrong("ccm-image-unusable", nil, "is larger than %s", size(o.Most))
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
