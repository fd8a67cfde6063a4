package ccm

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/zstd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// Limits of an image, besides the size of its layers, which [Options.Most] bounds. All that is read as a whole is checked
// first: a few megabytes unpack to as many gigabytes.
const (
	mostDescription = 4 << 20   // bytes of a manifest, a configuration or an index
	mostFiles       = 10_000    // files of an archive: layers, and what describes them
	mostLayers      = 128       // as Docker has it
	mostPath        = 4096      // bytes of a file's path
	mostPaths       = 128 << 20 // bytes of all paths of an image
	mostWindow      = 128 << 20 // bytes that a zstd stream refers back to: the most that zstd unpacks by default
	mostUnpacked    = 64 << 20  // bytes of an archive beside its layers
	mostArchiveTime = 15 * time.Minute
)

// limited is a stream that ends with an error when ctx does, and at the byte after the limit.
func limited(ctx context.Context, r io.Reader, what string, limit int64) io.Reader {
	return input.Reader(readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, context.Cause(ctx)
		}
		return r.Read(p)
	}), what, limit)
}

// describing refuses a description that is too large to be read as a whole.
func describing(what string, size int64) error {
	if size > mostDescription || size < 0 {
		return &input.TooLarge{What: what, Max: mostDescription}
	}
	return nil
}

// fits refuses an image whose manifest names too much.
func fits(m *v1.Manifest) error {
	if len(m.Layers) > mostLayers {
		return coded.New("ccm-image-unusable", "", nil, "has %d layers, more than %d", len(m.Layers), mostLayers)
	}
	return describing("the configuration", m.Config.Size)
}

// layoutFile refuses a description in a folder that is too large, or no file: a pipe, or a link to a device.
func layoutFile(what string, path ...string) error {
	info, err := os.Stat(filepath.Join(path...))
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return coded.New("ccm-archive-broken", "", nil, "%s is no regular file", what)
	}
	return describing(what, info.Size())
}

// unpacked opens a layer of a registry or a layout, unpacked if it is packed.
func unpacked(layer v1.Layer) (io.ReadCloser, error) {
	r, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	whole, err := plain(r)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return whole, nil
}

func plain(r io.ReadCloser) (io.ReadCloser, error) {
	head := bufio.NewReader(r)
	magic, err := head.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, gzipMagic()):
		z, err := gzip.NewReader(head)
		return unpacking{z, func() error { return r.Close() }}, err
	case bytes.HasPrefix(magic, zstdMagic()):
		z, err := zstd.NewReader(head, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow))
		return unpacking{z, func() error { z.Close(); return r.Close() }}, err
	}
	return unpacking{head, r.Close}, nil
}

type unpacking struct {
	io.Reader
	close func() error
}

// Close implements [io.Closer].
func (u unpacking) Close() error { return u.close() }

func gzipMagic() []byte { return []byte{0x1f, 0x8b} }
func zstdMagic() []byte { return []byte{0x28, 0xb5, 0x2f, 0xfd} }
