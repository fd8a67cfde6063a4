package ccm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

func spoolFile(dir string, layer int) string {
	return filepath.Join(dir, fmt.Sprintf("layer-%d.tar", layer))
}

// spool writes the layers, unpacked, to files, checks each against its digest, and lays them on top of each other.
func (o Options) spool(ctx context.Context, v *progress, img v1.Image, want []v1.Hash, dir string) (*tree, error) {
	layers, err := img.Layers()
	if err != nil {
		return nil, err
	}
	if len(want) != len(layers) {
		return nil, coded.New("ccm-image-unusable", "", nil, "has %d layers, and its configuration names %d", len(layers), len(want))
	}
	t, left := &tree{}, o.Most
	for i, layer := range layers {
		var got atomic.Int64
		text := fmt.Sprintf("layer %d of %d", i+1, len(layers))
		v.now("%s", text)
		v.doing(func() string { return text + ": " + size(got.Load()) })
		open := func() (io.ReadCloser, error) { return unpacked(layer) }
		if _, asIs := img.(dockerImage); asIs {
			open = layer.Uncompressed
		}
		n, digest, err := spoolLayer(ctx, open, spoolFile(dir, i), left, &got)
		if err != nil {
			return nil, err
		}
		if left -= n; left < 0 {
			return nil, coded.New("ccm-image-unusable", "", nil, "is larger than %s, unpacked", size(o.Most))
		}
		if digest != want[i].Hex {
			return nil, coded.New("ccm-image-unusable", "", nil, "layer %d is not what its configuration says: damaged, or tampered with", i+1)
		}
		f, err := os.Open(spoolFile(dir, i))
		if err != nil {
			return nil, err
		}
		err = errors.Join(t.add(i, f), f.Close())
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// spoolLayer writes at most one byte more than most.
func spoolLayer(ctx context.Context, open func() (io.ReadCloser, error), to string, most int64, got *atomic.Int64) (n int64, digest string, err error) {
	r, err := open()
	if err != nil {
		return 0, "", err
	}
	defer r.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, "", err
	}
	h := sha256.New()
	counted := readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := r.Read(p)
		got.Add(int64(n))
		return n, err
	})
	n, err = io.Copy(io.MultiWriter(f, h), io.LimitReader(counted, most+1))
	return n, hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

type readerFunc func([]byte) (int, error)

// Read implements [io.Reader].
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
