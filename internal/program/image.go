package program

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/klauspost/compress/zstd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// reference reads the name of an image. A registry on loopback is spoken to without TLS, as Docker does.
func reference(ref string) (name.Reference, error) {
	r, err := name.ParseReference(ref)
	if err != nil {
		return nil, coded.New("usage", "", err, "image:%s: is no name of an image", ref)
	}
	host := r.Context().RegistryStr()
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); host == "localhost" || ip != nil && ip.IsLoopback() {
		return name.ParseReference(ref, name.Insecure)
	}
	return r, nil
}

// registry returns how to ask registries, for which the user's Docker configuration has the credentials, and what to call in the
// end.
func (o Options) registry(ctx context.Context) ([]remote.Option, func()) {
	// A registry that takes connections and never answers is given up; how long a layer takes is its own affair.
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = time.Minute
	return []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithTransport(t),
		remote.WithUserAgent("vsphere-sandbox"), remote.WithPlatform(v1.Platform{OS: o.OS, Architecture: o.Arch}),
		remote.WithRetryBackoff(remote.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Steps: 3}),
	}, t.CloseIdleConnections
}

// findImage checks that a registry has an image.
func (o Options) findImage(ctx context.Context, text string) error {
	ref, err := reference(text)
	if err != nil {
		return err
	}
	options, done := o.registry(ctx)
	defer done()
	if _, err := remote.Head(ref, options...); err != nil {
		return refused(text, ref, err)
	}
	return nil
}

// image returns the program of an image in a registry.
func (o Options) image(ctx context.Context, text string) (Program, error) {
	v := startProgress(o.Progress)
	defer v.stop()
	ref, err := reference(text)
	if err != nil {
		return Program{}, err
	}
	v.now("asking %s for %s", ref.Context().RegistryStr(), text)
	options, done := o.registry(ctx)
	defer done()
	descriptor, err := remote.Get(ref, options...)
	if err != nil {
		return Program{}, refused(text, ref, err)
	}
	img, err := o.imageOf(descriptor)
	if err != nil {
		return Program{}, o.notForUs(text, ref, err)
	}
	digest, err := img.Digest()
	if err != nil {
		return Program{}, refused(text, ref, err)
	}
	p, err := o.unpack(ctx, v, "image:"+text, img)
	if err != nil {
		if status := (*transport.Error)(nil); errors.As(err, &status) {
			err = refused(text, ref, err)
		}
		return Program{}, err
	}
	p.Digest = digest.String()
	if tag, ok := ref.(name.Tag); ok && p.Version == "" {
		p.Version = tag.TagStr()
	}
	return p, nil
}

// imageOf returns the image for the platform.
func (o Options) imageOf(d *remote.Descriptor) (v1.Image, error) {
	if err := describing("the manifest", int64(len(d.Manifest))); err != nil {
		return nil, err
	}
	if !d.MediaType.IsIndex() {
		img, err := d.Image()
		if err != nil {
			return nil, err
		}
		m, err := img.Manifest()
		if err != nil {
			return nil, err
		}
		return img, fits(m)
	}
	index, err := d.ImageIndex()
	if err != nil {
		return nil, err
	}
	// No more is read of a registry than a descriptor says that there is.
	return o.fromIndex(index, func(what string, d v1.Descriptor) error { return describing(what, d.Size) }, 0)
}

// refused says in words what a registry did not give.
func refused(text string, ref name.Reference, err error) error {
	registry := ref.Context().RegistryStr()
	var status *transport.Error
	var dns *net.DNSError
	switch {
	case errors.As(err, &status):
		switch status.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			return &coded.Error{
				Code: "image-refused", Message: fmt.Sprintf("image:%s: %s does not let us read it (%d)", text, registry, status.StatusCode),
				Try: "docker login " + registry + ", or check the name: some registries say this of what they do not have",
			}
		case http.StatusNotFound:
			return coded.New("image-refused", "", nil, "image:%s: %s has no image of that name and tag", text, registry)
		}
		return coded.New("image-refused", "", nil, "image:%s: %s answers %d %s", text, registry, status.StatusCode, http.StatusText(status.StatusCode))
	case errors.Is(err, syscall.ECONNREFUSED):
		return coded.New("image-refused", "", nil, "image:%s: connection refused by %s", text, registry)
	case errors.As(err, &dns):
		return coded.New("image-refused", "", nil, "image:%s: registry %s: there is no such host, or no network", text, registry)
	}
	return coded.New("image-refused", "", err, "image:%s: %s", text, registry)
}

func (o Options) notForUs(text string, ref name.Reference, err error) error {
	if mine := (*coded.Error)(nil); errors.As(err, &mine) {
		mine.Message = "image:" + text + ": " + mine.Message
		return mine
	}
	if tooLarge, ok := errors.AsType[*input.TooLarge](err); ok {
		return coded.New("image-unusable", "", nil, "image:%s: %v", text, tooLarge)
	}
	return refused(text, ref, err)
}

// fromIndex returns the one image of an index that is for the platform; one without a platform counts when it is alone.
// Before a description that it names is read, check is asked whether it may be.
func (o Options) fromIndex(index v1.ImageIndex, check func(what string, d v1.Descriptor) error, depth int) (v1.Image, error) {
	if depth > 4 {
		return nil, errors.New("indexes within indexes")
	}
	m, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var others []string
	for _, d := range m.Manifests {
		if d.MediaType.IsIndex() {
			if err := check("the index", d); err != nil {
				return nil, err
			}
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, err
			}
			img, err := o.fromIndex(inner, check, depth+1)
			if mine := (*coded.Error)(nil); errors.As(err, &mine) && mine.Code == "wrong-platform" {
				others = append(others, mine.Message)
				continue
			}
			return img, err
		}
		if !d.MediaType.IsImage() || d.Annotations["vnd.docker.reference.type"] != "" { // an attestation
			continue
		}
		if p := d.Platform; p == nil && len(m.Manifests) == 1 || p != nil && p.OS == o.OS && p.Architecture == o.Arch {
			if err := check("the manifest", d); err != nil {
				return nil, err
			}
			img, err := index.Image(d.Digest)
			if err != nil {
				return nil, err
			}
			m, err := img.Manifest()
			if err != nil {
				return nil, err
			}
			return img, errors.Join(fits(m), check("the configuration", m.Config))
		}
		if d.Platform != nil {
			others = append(others, d.Platform.OS+"/"+d.Platform.Architecture)
		}
	}
	if len(others) == 0 {
		others = []string{"nothing"}
	}
	return nil, coded.New("wrong-platform", "", nil, "is for %s; this machine is %s/%s", strings.Join(others, ", "), o.OS, o.Arch)
}

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
		return coded.New("image-unusable", "", nil, "has %d layers, more than %d", len(m.Layers), mostLayers)
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
		return coded.New("archive-broken", "", nil, "%s is no regular file", what)
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
